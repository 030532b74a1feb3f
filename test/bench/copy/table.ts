import type { Sample, Transport } from './run.ts';

export interface Row {
  readonly transport: Transport;
  readonly size: string;
  readonly contender: string;
  readonly samples: Sample[];
}

/** Medians of all rounds. */
export function summarize({ transport, size, contender, samples }: Row) {
  return {
    transport,
    size,
    contender,
    /** MB (10^6 bytes) per second. */
    speed: median(samples.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
    /** CPU seconds per GB (10^9 bytes). The least is what other programs on this machine disturbed least. */
    cpu: median(samples.map(cpuPerGb)),
    leastCpu: Math.min(...samples.map(cpuPerGb)),
    /** MB, the highest of all rounds. */
    rss: Math.max(...samples.map(({ rss }) => rss)) / 1e6,
  };
}

function cpuPerGb({ bytes, cpu }: Sample): number {
  return (cpu * 1e9) / bytes;
}

const REFERENCES = ['raw', 'lib-storage', 'against'];

/** Plain text. The ratios compare medians of the same rounds. */
export function table(rows: readonly Row[]): string {
  const summaries = rows.map(summarize);
  const references = summaries.filter(({ contender }) => REFERENCES.includes(contender));
  const divided = references.map(({ contender }) => `÷ ${contender}`);
  const head = ['', '', 'MB/s', ...divided, 'CPU s/GB', 'least', ...divided, 'peak MB'];
  const lines = summaries.map((row) => [
    `${row.transport} ${row.size}`,
    row.contender,
    ...[row.speed.toFixed(0), ...references.map(({ speed }) => (row.speed / speed).toFixed(2))],
    ...[row.cpu.toFixed(2), row.leastCpu.toFixed(2)],
    ...references.map(({ cpu }) => (row.cpu / cpu).toFixed(2)),
    row.rss.toFixed(0),
  ]);
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const pad = (text: string, column: number) =>
    column < 2 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return all.map((line) => line.map(pad).join('  ')).join('\n');
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
