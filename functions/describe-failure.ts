import * as z from 'zod/mini';
import { describeFailure as describe, trim } from './workflow/failure.ts';
import { Caught, type FailedWindow, type Failure, WindowResult, WindowState } from './workflow/states.ts';
import { step } from './workflow/step.ts';

/** A failed window's state, and the error that it ended with. */
const WindowFailure = z.extend(WindowState, { caught: Caught });

/** Whatever the export had come to; of its request only what can be read is used, since it may be what failed. */
const ExportFailure = z.looseObject({ execution: z.string(), caught: Caught });

const DescribeFailureInput = z.union([WindowFailure, ExportFailure]);
type DescribeFailureInput = z.infer<typeof DescribeFailureInput>;

/** Windows that an export's card shows; the rest are counted. */
const MAX_WINDOWS_SHOWN = 10;

/** What ends the export: the card, and the same as text for the execution's Cause. */
export interface ExportFailed {
  readonly failure: Failure;
  readonly cause: string;
}

/** Makes the card of a failure: of one window, whose export goes on, or of the export. Never throws for a reason of its own. */
export async function describeFailure(state: DescribeFailureInput): Promise<FailedWindow | ExportFailed> {
  if (isWindow(state)) return { outcome: 'failed', window: state.window, failure: describeWindow(state) };
  const failure = describeExport(state);
  return { failure, cause: JSON.stringify(failure) };
}

function isWindow(state: DescribeFailureInput): state is z.infer<typeof WindowFailure> {
  return 'window' in state;
}

function describeWindow({
  caught,
  execution,
  request,
  window,
  reports,
}: z.infer<typeof WindowFailure>): Failure {
  const report_ids = reports.map(({ id }) => id);
  return describe(caught, { execution, account: request.account, export: request.name, window, report_ids });
}

/** The names stand in the request, and beside the windows once the export was summed up. */
function describeExport(state: z.infer<typeof ExportFailure>): Failure {
  const { account, name } = namesIn(state.request ?? state);
  const failure = describe(state.caught, { execution: state.execution, account, export: name });
  const results = z.array(WindowResult).safeParse(state.results);
  const failed = (results.data ?? []).filter((result): result is FailedWindow => result.outcome === 'failed');
  return failed.length > 0 ? sumUp(failure, failed, results.data?.length ?? 0) : failure;
}

/** Where all windows failed alike, the export failed in that way; the sentence of one then stands for all. */
function sumUp(failure: Failure, failed: readonly FailedWindow[], windows: number): Failure {
  const cards = failed.map((result) => result.failure);
  const [first] = cards;
  const alike = first && cards.every(({ error }) => error === first.error);
  return trim({
    ...failure,
    ...(alike && { error: first.error, todo: first.todo, ...(first.faults && { faults: first.faults }) }),
    happened: `${failed.length} of ${windows} windows were not delivered. ${first?.happened}`,
    report_ids: cards.flatMap(({ report_ids }) => report_ids).slice(0, 3 * MAX_WINDOWS_SHOWN),
    request_ids: cards.flatMap(({ request_ids }) => request_ids).slice(0, MAX_WINDOWS_SHOWN),
    failed_windows: cards.slice(0, MAX_WINDOWS_SHOWN),
    windows_failed: failed.length,
    windows_delivered: windows - failed.length,
  });
}

function namesIn(request: unknown): { account?: string | undefined; name?: string | undefined } {
  const names = z.object({ account: z.optional(z.string()), name: z.optional(z.string()) });
  return names.safeParse(request).data ?? {};
}

export const handler = step(DescribeFailureInput, describeFailure, () => ({}));
