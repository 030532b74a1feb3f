import type { Sample, Transport } from './run.ts';

export interface Row {
  readonly transport: Transport;
  readonly size: string;
  readonly contender: string;
  readonly samples: Sample[];
}

/** Medians of all rounds. */
export interface Summary {
  readonly transport: Transport;
  readonly size: string;
  readonly contender: string;
  /** MB (10^6 bytes) in a second. */
  readonly speed: number;
  /** Seconds of CPU for a GB (10^9 bytes). */
  readonly cpu: number;
  /** MB, the highest of all rounds. */
  readonly rss: number;
}

export function summarize({ transport, size, contender, samples }: Row): Summary {
  return {
    transport,
    size,
    contender,
    speed: median(samples.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
    cpu: median(samples.map(({ bytes, cpu }) => (cpu * 1e9) / bytes)),
    rss: Math.max(...samples.map(({ rss }) => rss)) / 1e6,
  };
}

/** Plain text; the ratios are to the raw pipe of the same rounds. */
export function table(rows: readonly Row[]): string {
  const summaries = rows.map(summarize);
  const raw = summaries.find(({ contender }) => contender === 'raw');
  const ratio = (value: number, limit: number | undefined) => (limit ? (value / limit).toFixed(2) : '');
  const lines = summaries.map(({ transport, size, contender, speed, cpu, rss }) => [
    `${transport} ${size}`,
    contender,
    speed.toFixed(0),
    ratio(speed, raw?.speed),
    cpu.toFixed(2),
    ratio(cpu, raw?.cpu),
    rss.toFixed(0),
  ]);
  const all = [['', '', 'MB/s', '÷ raw', 'CPU s/GB', '÷ raw', 'peak RSS MB'], ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  const pad = (text: string, column: number) =>
    column < 2 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return all.map((line) => line.map(pad).join('  ')).join('\n');
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
