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
  /** MB, the highest of all rounds; null where it could not be looked up. */
  readonly rss: number | null;
  /** How many cores the contender and both servers kept busy. */
  readonly cores: number;
}

export function summarize({ transport, size, contender, samples }: Row): Summary {
  const rss = Math.max(...samples.map(({ rss }) => rss)) / 1e6;
  return {
    transport,
    size,
    contender,
    speed: median(samples.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
    cpu: median(samples.map(({ bytes, cpu }) => (cpu * 1e9) / bytes)),
    rss: Number.isNaN(rss) ? null : rss,
    cores: median(samples.map(({ cpu, servers, seconds }) => (cpu + servers) / seconds)),
  };
}

const HEAD = ['', '', 'MB/s', '÷ raw', '÷ lib', 'CPU s/GB', '÷ raw', '÷ lib', 'peak MB', 'cores'];

/** Plain text; the ratios are to the raw pipe, and to lib-storage with its defaults, of the same rounds. */
export function table(rows: readonly Row[]): string {
  const summaries = rows.map(summarize);
  const named = (name: string) => summaries.find(({ contender }) => contender === name);
  const [raw, lib] = [named('raw'), named('lib-storage')];
  const ratio = (value: number, limit: number | undefined) => (limit ? (value / limit).toFixed(2) : '');
  const lines = summaries.map(({ transport, size, contender, speed, cpu, rss, cores }) => [
    `${transport} ${size}`,
    contender,
    ...[speed.toFixed(0), ratio(speed, raw?.speed), ratio(speed, lib?.speed)],
    ...[cpu.toFixed(2), ratio(cpu, raw?.cpu), ratio(cpu, lib?.cpu)],
    ...[rss?.toFixed(0) ?? '', cores.toFixed(2)],
  ]);
  const all = [HEAD, ...lines];
  const widths = HEAD.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
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
