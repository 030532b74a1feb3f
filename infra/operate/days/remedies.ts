import { type DateRange, daysBetween } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Folder } from '../place/bucket.ts';
import { type Days, describeState, type MissingDays, type StateRange } from './missing-days.ts';
import { exportDaysCommand, rebuildCommand } from './next-command.ts';
import { describeOpenDays, type UnfinishedRun } from './open-runs.ts';

/** A command to paste, for the days from the first range to the last one. */
export interface Remedy {
  readonly aim: string;
  /** Each with its reason in words. */
  readonly ranges: readonly (Days & { readonly reason: string })[];
  readonly command: string;
}

/** The commands that bring the days, add them to the table, and empty the held ones. */
export function findRemedies(
  { ranges }: Pick<MissingDays, 'ranges'>,
  named: Pick<ExportRequest, 'account' | 'name' | 'kind'>,
  folder: Folder,
): Remedy[] {
  const inState = (state: StateRange['state']) => ranges.filter((range) => range.state === state);
  const behind = inState('behind');
  const exportDays = (onlyMissing: boolean) => (range: DateRange) =>
    exportDaysCommand(named, range, folder, onlyMissing);
  const rebuild = (acceptEmpty: boolean) => (range: DateRange) =>
    rebuildCommand(named, range, folder, acceptEmpty);
  return [
    remedy('To export them:', inState('missing'), exportDays(true)),
    remedy(
      'To add them to the table:',
      behind.filter(({ file_gone }) => !file_gone),
      rebuild(false),
    ),
    remedy(
      'To export them again, because their files are gone:',
      behind.filter(({ file_gone }) => file_gone),
      exportDays(false),
    ),
    remedy('To empty the held days in the table, if they are right:', inState('held'), rebuild(true)),
    remedy(
      'To export them as the request is now, if wanted (plan with the same options says what it costs):',
      inState('older'),
      exportDays(true),
    ),
  ].flat();
}

/** The command that finishes a run. */
export function finishRun(run: UnfinishedRun): Remedy {
  const { start_date, end_date, command } = run;
  const reason = `a run did not finish: ${describeOpenDays(run)}`;
  const range = { start_date, end_date, days: daysBetween(start_date, end_date), reason };
  return { aim: 'To finish the run:', ranges: [range], command };
}

function remedy(
  aim: string,
  ranges: readonly StateRange[],
  commandOf: (range: DateRange) => string,
): Remedy[] {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  const command = commandOf({ start_date: first.start_date, end_date: last.end_date });
  const described = ranges.map(({ start_date, end_date, days, ...range }) => {
    return { start_date, end_date, days, reason: describeState({ start_date, end_date, days, ...range }) };
  });
  return [{ aim, ranges: described, command }];
}
