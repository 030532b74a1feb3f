import { expect } from 'vitest';

/** One metric in a line of CloudWatch's embedded metric format (EMF). */
export interface Metric {
  readonly namespace: string;
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly dimensions: Readonly<Record<string, unknown>>;
  /** The line's other fields. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Reads the metrics in these lines. CloudWatch reads metrics only from a line that is one JSON object, and
 * silently drops a line whose dimensions or values have another form.
 */
export function metricsIn(lines: readonly string[]): Metric[] {
  return lines.flatMap((line) => {
    const { _aws, ...members } = JSON.parse(line);
    expect(Number.isInteger(_aws.Timestamp)).toBe(true);
    const [{ Namespace: namespace, Dimensions, Metrics }, ...others] = _aws.CloudWatchMetrics;
    expect(Dimensions).toHaveLength(1);
    expect(others).toEqual([]);
    const metrics: { Name: string; Unit: string }[] = Metrics;
    const pick = (isPicked: (name: string) => boolean) =>
      Object.fromEntries(Object.entries(members).filter(([name]) => isPicked(name)));
    const dimensions = pick((name) => Dimensions[0].includes(name));
    for (const value of Object.values(dimensions)) expect(value).toMatch(/^[\x20-\x7e]{1,1024}$/);
    const isProperty = (name: string) =>
      !Dimensions[0].includes(name) && !metrics.some(({ Name }) => Name === name);
    return metrics.map(({ Name: name, Unit: unit }) => {
      expect(members[name]).toSatisfy(Number.isFinite);
      return { namespace, name, unit, dimensions, properties: pick(isProperty), value: members[name] };
    });
  });
}
