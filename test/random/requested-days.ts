import {
  describeDaysOf,
  findUnfinished,
  judgeExport,
  type StateRange,
} from '../../infra/operate/days/days.ts';
import { findExport } from '../../infra/operate/days/exports.ts';
import { openToRead } from '../../infra/operate/place/bucket.ts';
import type { Workflow } from '../support/workflow.ts';

/** What `missing` says of the days of a request. */
export interface RequestedDays {
  readonly name: string;
  /** The days that are not `there`. A query for purchases has no days. */
  readonly ranges: readonly StateRange[];
  /** The executions that did not finish. */
  readonly unfinished: readonly string[];
}

export async function readDays(
  { out, clock }: Workflow,
  account: string,
  name: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<RequestedDays> {
  const place = { local: true, out, account } as const;
  await using store = await openToRead(place);
  const now = new Date(clock.now());
  const asked =
    fields.kind === 'report' ? { from: String(fields.start_date), to: String(fields.end_date) } : {};
  const found = await findExport(name, place, store, now, asked);
  const unfinished = findUnfinished(found, [], place, now);
  const judged = fields.kind === 'purchases' ? undefined : await judgeExport(store, found);
  return {
    name,
    ranges: judged ? describeDaysOf(found, judged, unfinished).ranges : [],
    unfinished: unfinished.map(({ execution }) => execution),
  };
}
