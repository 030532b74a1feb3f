import { expect } from 'vitest';
import type { LogLine } from '../../infra/local/lambda/lambda-instance.ts';

/** One metric in a line of CloudWatch's embedded metric format (EMF). */
export interface Metric {
  readonly namespace: string;
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly dimensions: Readonly<Record<string, string>>;
  /** The line's other fields. */
  readonly properties: Readonly<Record<string, unknown>>;
}

interface Line {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
    }[];
  };
  readonly [member: string]: unknown;
}

const UNITS = ['Count', 'Seconds'];

/** CloudWatch reads metrics only from a line that is one JSON object. */
export function metricsIn(logs: readonly LogLine[]): Metric[] {
  const lines = logs.filter(({ text }) => text.includes('"_aws"'));
  return lines.flatMap(({ text }) => metricsOf(JSON.parse(text)));
}

/** CloudWatch silently drops a line whose dimensions or values have another form. */
function metricsOf(line: Line): Metric[] {
  expect(Number.isInteger(line._aws.Timestamp)).toBe(true);
  expect(line._aws.CloudWatchMetrics).toHaveLength(1);
  return line._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) => {
    expect(Dimensions).toHaveLength(1);
    const names = Dimensions.flat();
    const dimensions = Object.fromEntries(names.map((name) => [name, text(line[name])]));
    const metricNames = Metrics.map(({ Name }) => Name);
    const { _aws, ...members } = line;
    const properties = Object.fromEntries(
      Object.entries(members).filter(([name]) => !names.includes(name) && !metricNames.includes(name)),
    );
    return Metrics.map(({ Name, Unit }) => {
      expect(UNITS, Name).toContain(Unit);
      return {
        namespace: Namespace,
        name: Name,
        unit: Unit,
        dimensions,
        properties,
        value: number(line[Name]),
      };
    });
  });
}

function text(value: unknown): string {
  expect(value).toMatch(/^[\x20-\x7e]{1,1024}$/);
  return String(value);
}

function number(value: unknown): number {
  expect(value).toSatisfy(Number.isFinite);
  return Number(value);
}
