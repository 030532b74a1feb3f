import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { runCommand } from './decisions/newcomers.ts';
import { collectOutcomes, countUndelivered, problemOf } from './decisions/outcomes.ts';
import { addByMetric } from './decisions/total.ts';
import { shortenTexts } from './decisions/warnings.ts';
import { ExportIncomplete } from './workflow/errors.ts';
import { planKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import type { Comparison, TableChanges } from './workflow/state-parts.ts';
import { type DeliveredWindow, type ExportResult, PublishExportInput } from './workflow/states.ts';

/** Bytes of the result's warnings. Its windows have at most 100 × 1,700 bytes, and an event has 256 KB. */
const MAX_WARNINGS = 50_000;

interface Dependencies {
  readonly store: Pick<ObjectStore, 'bucket' | 'remove'>;
}

/**
 * Sums up the windows. The result becomes the event's detail and the execution's output. If no window failed,
 * the plan of the range is removed, whichever run wrote it.
 *
 * @throws ExportIncomplete if a window failed or has no result; delivered windows stay delivered
 * @throws AccessRefused, ServiceUnavailable
 */
export async function publishExport(
  plan: PublishExportInput,
  { store }: Dependencies,
): Promise<ExportResult> {
  const { execution, request, windows: planned, results = [], already_delivered, warnings } = plan;
  const outcomes = collectOutcomes(planned, results);
  const delivered = outcomes.filter((outcome) => outcome.outcome === 'delivered');
  const failed = outcomes.length - delivered.length;
  if (failed > 0) throw new ExportIncomplete(`${countUndelivered(failed, outcomes.length)}.`);
  await store.remove(planKey(request, request));
  const { account, name, kind, start_date, end_date } = request;
  const windows = delivered.map(({ outcome, warnings: _, ...window }) => window);
  const all = [...warnings, ...delivered.flatMap((window) => window.warnings ?? [])];
  return {
    version: '1',
    execution,
    account,
    name,
    kind,
    start_date,
    end_date,
    bucket: store.bucket,
    windows,
    already_delivered,
    bytes: windows.reduce((sum, { bytes }) => sum + bytes, 0),
    ...sumRows(delivered, already_delivered),
    table_problem: problemOf(outcomes),
    reconciled: sumComparisons(delivered),
    ...sumChanges(delivered),
    ...describeNewcomers(plan),
    warnings: shortenTexts(all, MAX_WARNINGS),
  };
}

function describeNewcomers({ advertisers, request: { name, account } }: PublishExportInput) {
  const { newcomers } = advertisers ?? {};
  if (!newcomers) return {};
  const { history } = newcomers;
  return { newcomers: { ...newcomers, ...(history && { command: runCommand(name, account, history) }) } };
}

/**
 * Returns nothing unless the rows of every window are known. `empty` is left out if other windows were
 * delivered earlier, because those may have rows.
 */
function sumRows(delivered: readonly DeliveredWindow[], earlier = 0): { rows?: number; empty?: boolean } {
  const rows = delivered.reduce((sum, { rows }) => sum + (rows ?? Number.NaN), 0);
  if (Number.isNaN(rows) || delivered.length === 0) return {};
  return rows === 0 && earlier > 0 ? { rows } : { rows, empty: rows === 0 };
}

/** Adds up what windows changed in their table. Returns nothing if none was written. */
function sumChanges(windows: readonly DeliveredWindow[]): Partial<TableChanges> {
  const written = windows.filter(({ restated }) => restated !== undefined);
  if (written.length === 0) return {};
  const sorted = (days: readonly (string | undefined)[]) =>
    days.filter((day) => day !== undefined).toSorted();
  const restated = sorted(written.flatMap((each) => [each.first_restated, each.last_restated]));
  const held = sorted(written.flatMap((each) => [each.first_held, each.last_held]));
  return {
    restated: written.reduce((sum, { restated = 0 }) => sum + restated, 0),
    first_restated: restated[0],
    last_restated: restated.at(-1),
    held: written.reduce((sum, { held = 0 }) => sum + held, 0),
    first_held: held[0],
    last_held: held.at(-1),
  };
}

/** Adds up what windows compared with the platform's totals. A window has the first metrics only. */
function sumComparisons(windows: readonly DeliveredWindow[]): Comparison | undefined {
  const all = windows.flatMap(({ reconciled }) => reconciled ?? []);
  if (all.length === 0) return undefined;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const above = all.flatMap(({ above_tolerance }) => above_tolerance ?? []);
  const isInAll = (name: string) => all.every(({ metrics }) => metrics.some(({ metric }) => metric === name));
  return {
    days: sum(all.map(({ days }) => days)),
    above_tolerance: above.length > 0 ? sum(above) : undefined,
    metrics: addByMetric(all.flatMap(({ metrics }) => metrics).filter(({ metric }) => isInAll(metric))),
  };
}

export const handler = createHandler(READS.PublishExport, PublishExportInput, publishExport, (settings) => ({
  store: createObjectStore(settings),
}));
