import type { DateRange } from '../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { Folder } from './bucket.ts';
import { type Days, describeReason, type LackingDays, type MissingRange } from './missing-days.ts';
import { exportDaysCommand, rebuildCommand } from './next-command.ts';

/** A command to paste, for the days from the first range to the last one. */
export interface Remedy {
  readonly aim: string;
  /** Each with its reason in words. */
  readonly ranges: readonly (Days & { readonly reason: string })[];
  readonly command: string;
}

/** The commands that bring the days, and empty the held ones. */
export function findRemedies(
  { not_delivered, not_in_table, not_renewed, held, older_request }: LackingDays,
  named: Pick<ExportRequest, 'account' | 'name' | 'kind'>,
  folder: Folder,
): Remedy[] {
  const exportDays = (onlyMissing: boolean) => (range: DateRange) =>
    exportDaysCommand(named, range, folder, onlyMissing);
  const rebuild = (acceptEmpty: boolean) => (range: DateRange) =>
    rebuildCommand(named, range, folder, acceptEmpty);
  const isUnannounced = ({ reason }: MissingRange) => reason === 'unannounced';
  const toExport = [...not_delivered.filter((each) => !isUnannounced(each)), ...not_renewed].toSorted(
    (one, other) => one.start_date.localeCompare(other.start_date),
  );
  const unannounced = not_delivered.filter(isUnannounced);
  const asNow = 'To export them as the request is now (plan with the same options says what it costs):';
  return [
    remedy('To add them to the table:', not_in_table, rebuild(false)),
    remedy('To export them:', toExport, exportDays(true)),
    remedy('To export again what is not announced:', unannounced, exportDays(false)),
    remedy('To empty the held days in the table:', held, rebuild(true)),
    remedy(asNow, older_request, exportDays(true)),
  ].flat();
}

function remedy(
  aim: string,
  ranges: readonly MissingRange[],
  commandOf: (range: DateRange) => string,
): Remedy[] {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  const command = commandOf({ start_date: first.start_date, end_date: last.end_date });
  return [{ aim, ranges: ranges.map((range) => ({ ...range, reason: describeReason(range) })), command }];
}
