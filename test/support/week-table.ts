import { join } from 'node:path';
import type { Fault } from '../../infra/sandbox/faults/parse-fault.ts';
import { shownDays } from './day-sums.ts';
import type { Workflow } from './workflow.ts';

/** The days of the window that a workflow's request has by default. */
export const WEEK = ['01', '02', '03', '04', '05', '06', '07'].map((day) => `2026-10-${day}`);

/** The storage host serves a row for each day, with this spend. */
export function report(spends: readonly number[]): Fault {
  const rows = spends.map((spend, at) => ({ date: WEEK[at], spend }));
  return { on: 'storage', body: JSON.stringify(rows) };
}

export const ONES = report([1, 1, 1, 1, 1, 1, 1]);

/** The days that a table lists. */
export async function daysOf({ out, bucket }: Workflow, table: string): Promise<string[]> {
  return Object.keys(await shownDays(join(out, bucket, 'tables', table), 'sandbox'));
}
