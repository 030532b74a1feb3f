import { PRICES } from '../../infra/stack/config/cost.ts';

/** What a rehearsal used, by which AWS charges. */
export interface Usage {
  /** How long the stacks were there. */
  readonly hours: number;
  readonly transitions: number;
  /** Of functions. */
  readonly calls: number;
  readonly gigabyteSeconds: number;
  /** Of S3: objects that were stored, also those that were replaced later. */
  readonly puts: number;
  readonly queries: number;
  /** Of Athena, whose queries are at least 10 MB each. */
  readonly scannedBytes: number;
  readonly secrets: number;
  readonly alarms: number;
}

export interface BillLine {
  readonly what: string;
  readonly amount: string;
  readonly dollars: number;
}

const MILLION = 1e6;
const TERABYTE = 1e12;
const HOURS_OF_MONTH = 730;

/** List prices in dollars, us-east-1, besides those of an export. */
const MORE_PRICES = {
  put: 5 / MILLION,
  get: 0.4 / MILLION,
  scannedTerabyte: 5,
  /** A month. */
  alarm: 0.1,
  /** A month of a metric of our own. */
  metric: 0.3,
};

/** Nobody counts what a function reads. Most calls read fewer. */
const GETS_PER_CALL = 20;

/** The metrics of measure.ts, each with the stack's name. */
const METRICS = 10;

/** More than a rehearsal uses, for a price before it begins. The emulator's has about 500 transitions. */
export const EXPECTED: Usage = {
  hours: 1,
  transitions: 700,
  calls: 500,
  gigabyteSeconds: 800,
  puts: 500,
  queries: 15,
  scannedBytes: 15 * 10_000_000,
  secrets: 20,
  alarms: 12,
};

/** The lines of a bill. What is far below a cent has none: events, messages, schedules, logs and traces. */
export function billOf(usage: Usage): BillLine[] {
  const { hours, transitions, calls, gigabyteSeconds, puts, queries, scannedBytes, secrets, alarms } = usage;
  const months = hours / HOURS_OF_MONTH;
  const gets = calls * GETS_PER_CALL;
  const line = (what: string, amount: string, dollars: number) => ({ what, amount, dollars });
  const ofTime = (count: number) => `${count} for ${hours.toFixed(1)} h`;
  return [
    line('state transitions', String(transitions), transitions * PRICES.transition),
    line('calls of functions', String(calls), calls * PRICES.call),
    line(
      'memory of functions',
      `${gigabyteSeconds.toFixed(0)} GB-s`,
      gigabyteSeconds * PRICES.gigabyteSecond,
    ),
    line('objects stored', String(puts), puts * MORE_PRICES.put),
    line('objects read, at most', String(gets), gets * MORE_PRICES.get),
    line(
      'queries of Athena',
      `${queries}, ${scannedBytes} bytes`,
      scannedBytes * (MORE_PRICES.scannedTerabyte / TERABYTE),
    ),
    line('secrets', ofTime(secrets), secrets * PRICES.secret * months),
    line('alarms', ofTime(alarms), alarms * MORE_PRICES.alarm * months),
    line('metrics', ofTime(METRICS), METRICS * MORE_PRICES.metric * months),
  ];
}

export function totalOf(lines: readonly BillLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}
