import { nameNewcomers } from '../../../../functions/decisions/newcomers.ts';
import type { Compared } from '../../../../functions/decisions/total.ts';
import { count } from '../../../../functions/workflow/count.ts';
import type { ErrorName } from '../../../../functions/workflow/errors.ts';
import { addDays, describeDays } from '../../../../functions/workflow/request/dates.ts';
import type { FailureReport } from '../../../../functions/workflow/state-parts.ts';
import {
  type AccountEnd,
  ALREADY_STARTED,
  type ExportResult,
} from '../../../../functions/workflow/states.ts';
import { describeAmount } from '../../days/describe-amount.ts';
import { commandFor, exportDaysCommand } from '../../days/next-command.ts';
import type { AccountsOutcome, Interrupted, Outcome } from '../../executions/outcome.ts';
import type { Folder } from '../../place/bucket.ts';
import { DELIVERED, FAILED, INTERRUPTED, NOT_IN_TABLE } from '../exit-status.ts';
import { alignColumns, printDocument, printLines } from '../layout.ts';

/** The folder of a local run; empty for the deployed stack. */
interface Place extends Partial<Folder> {
  /** The command that finishes a local run that was not delivered. Default: `resume` of its execution. */
  readonly finish?: string | undefined;
}

const EXIT_STATUS = { delivered: DELIVERED, failed: FAILED, interrupted: INTERRUPTED } as const;

interface Printing extends Place {
  readonly json?: true;
  /** A table that did not take a file has an exit status of its own. */
  readonly strict?: true;
}

/** Prints an outcome and sets the exit status. */
export function printOutcome(outcome: Outcome, { json, strict, ...place }: Printing): void {
  const screen = outcome.outcome === 'delivered' ? process.stdout : process.stderr;
  if (json) printDocument(outcome);
  else printLines(describeOutcome(outcome, place), screen);
  const isLacking = 'table_problem' in outcome && outcome.table_problem !== undefined;
  process.exitCode =
    strict && isLacking && outcome.outcome === 'delivered' ? NOT_IN_TABLE : EXIT_STATUS[outcome.outcome];
}

export function describeOutcome(outcome: Outcome, place: Place): string[] {
  if ('accounts' in outcome) return describeAccounts(outcome, place);
  if (outcome.outcome === 'delivered') return describeDelivered(outcome, place);
  return outcome.outcome === 'failed' ? describeFailed(outcome, place) : describeInterrupted(outcome);
}

/** The command that finishes an execution. */
function nextAfter({ execution }: Outcome, { finish, ...folder }: Place): string {
  return finish ?? commandFor(['resume', execution], {}, folder);
}

/** The object, as a URI or a path. */
function locate(bucket: string, key: string, { local, out }: Place): string {
  return `${local ? `${out}/` : 's3://'}${bucket}/${key}`;
}

function describeAccounts(outcome: AccountsOutcome, place: Place): string[] {
  const { accounts } = outcome;
  const rows = accounts.map((end) => [end.account, describeAccount(end), end.execution]);
  const table = alignColumns([['account', 'outcome', 'execution'], ...rows]);
  const failed = accounts.filter((end) => end.outcome === 'failed');
  if (failed.length > 0)
    return [
      `The export failed for ${failed.length} of ${count(accounts.length, 'account')}.`,
      ...table,
      ...describeFailedAccounts(failed, place),
      `Then: ${nextAfter(outcome, place)}`,
    ];
  if (outcome.outcome === 'delivered') return table;
  return [
    'Nothing was exported: the executions of all accounts had been started before.',
    ...table,
    ...accounts
      .slice(0, 1)
      .map(({ execution }) => `To see how they ended: ${commandFor(['explain', execution])}`),
    'To export what is missing: the same request with --only-missing',
  ];
}

/** An execution that was started says itself why it failed. */
function describeAccount({ outcome, error }: AccountEnd): string {
  return isStartError(error) ? `${outcome}: ${error}` : outcome;
}

/** Step Functions did not start the execution of the account. */
function isStartError(error: string | undefined): boolean {
  return error?.startsWith('StepFunctions.') === true;
}

function describeFailedAccounts(failed: readonly AccountEnd[], place: Place): string[] {
  const startedBefore = failed.filter(({ error }) => error === ALREADY_STARTED);
  const neverStarted = failed.filter(({ error }) => isStartError(error) && error !== ALREADY_STARTED);
  const explained = failed.filter((end) => !neverStarted.includes(end)).slice(0, 1);
  const namesOf = (ends: readonly AccountEnd[]) => ends.map(({ account }) => account).join(', ');
  return [
    ...(startedBefore.length > 0
      ? [`Started before the redrive, which starts no execution again: ${namesOf(startedBefore)}`]
      : []),
    ...(neverStarted.length > 0 ? [`Not started, so no execution says more: ${namesOf(neverStarted)}`] : []),
    ...explained.map(({ execution }) => `To see why: ${explainCommand(execution, place)}`),
  ];
}

function explainCommand(execution: string, place: Place): string {
  return place.local ? commandFor(['status'], {}, place) : commandFor(['explain', execution]);
}

function describeDelivered(result: ExportResult, place: Place): string[] {
  const { already_delivered: already = 0, held = 0, table_problem } = result;
  return [
    ...(result.windows.length > 0 ? describeResults(result, place) : ['No window was missing.']),
    ...describeRestated(result),
    ...describeReconciled(result),
    ...describeNewcomers(result, place),
    ...(held > 0 || table_problem !== undefined ? [adviseOnTable(result.name, result.account, place)] : []),
    ...(already > 0 ? [`Windows that were already delivered, and not exported again: ${already}`] : []),
    ...result.warnings.map((warning) => `warning: ${warning}`),
    ...(result.empty ? ['The platform had no rows for this request.'] : []),
  ];
}

function adviseOnTable(name: string, account: string | undefined, folder: Place): string {
  return `To see the days that the table lacks or holds: ${commandFor(['missing', name], { account }, folder)}`;
}

/** Conversions come late, so a report may change days that were exported before. */
function describeRestated({ restated = 0, first_restated, last_restated }: ExportResult): string[] {
  if (!first_restated || !last_restated) return [];
  const days = describeDays({ start_date: first_restated, end_date: addDays(last_restated, 1) });
  return [`Days of the table that show other values now: ${restated}, ${days}`];
}

function describeReconciled({ reconciled }: ExportResult): string[] {
  if (!reconciled) return [];
  const { days, metrics } = reconciled;
  const differing = metrics.filter(({ difference }) => difference !== 0);
  const names = metrics.map(({ metric }) => metric);
  const words =
    differing.length === 0
      ? `are equal in ${ENUMERATION.format(names)}`
      : `differ by ${ENUMERATION.format(differing.map(describeTotalDifference))}`;
  return [`Rows and the platform's total ${words} (${count(days, 'day')})`];
}

/** Joins words with commas and an `and`. */
const ENUMERATION = new Intl.ListFormat('en');

/** Such as `0.01 in spend`. */
function describeTotalDifference({ metric, difference }: Compared): string {
  return `${describeAmount(metric, Math.abs(difference))} in ${metric}`;
}

function describeNewcomers({ newcomers, account, name }: ExportResult, folder: Place): string[] {
  if (!newcomers) return [];
  const { history } = newcomers;
  const command = history && exportDaysCommand({ account, name }, history, folder, false);
  return [
    `The platform lists ${nameNewcomers(newcomers)}`,
    ...(command ? [`To export ${describeDays(history)} with them: ${command}`] : []),
  ];
}

function describeResults({ windows, bucket }: ExportResult, place: Place): string[] {
  const rows = windows.map(({ window, rows, bytes, key }) => [
    describeDays(window),
    rows === undefined ? '' : `${rows}`,
    `${bytes}`,
    locate(bucket, key, place),
  ]);
  return alignColumns([['days', 'rows', 'bytes', 'object'], ...rows], [1, 2]);
}

function describeFailed(failure: Extract<Outcome, { error: string }>, place: Place): string[] {
  const report: Partial<FailureReport> = failure;
  const { faults = [], report_ids = [], request_ids = [], runbook, bucket, key, table_problem } = report;
  // A request that is at fault would fail again.
  const isAtFault = failure.error === ('InvalidInput' satisfies ErrorName);
  return [
    `The export failed: ${failure.error}`,
    failure.happened,
    ...faults.map((fault) => `  ${fault}`),
    ...describeWindows(report),
    ...(table_problem === undefined
      ? []
      : [`warning: ${table_problem}`, adviseOnTable(report.export ?? '', report.account, place)]),
    `execution: ${failure.execution}`,
    ...(report_ids.length > 0 ? [`report_id: ${report_ids.join(', ')}`] : []),
    ...(request_ids.length > 0 ? [`request_id: ${request_ids.join(', ')}`] : []),
    ...(bucket && key ? [`Failure report: ${locate(bucket, key, place)}`] : []),
    ...(runbook === undefined ? [] : [`More: ${runbook}`]),
    `What to do: ${failure.todo}`,
    ...(isAtFault ? [] : [`Then: ${nextAfter(failure, place)}`]),
  ];
}

function describeInterrupted({ execution, continues, next }: Interrupted): string[] {
  return continues
    ? [`The export continues without this command: ${execution}`, `To follow it: ${next}`]
    : [`Stopped ${execution}. Windows that were delivered stay.`, `To export the rest: ${next}`];
}

/** Names the windows of an export with several. The failure report lists only the first ten that failed. */
function describeWindows(report: Partial<FailureReport>): string[] {
  const { windows_failed = 0, failed_windows = [], windows_delivered = 0 } = report;
  const all = windows_failed + windows_delivered;
  if (all < 2) return [];
  const shown = failed_windows.map(
    ({ window, error }) => `  ${window ? describeDays(window) : ''}  ${error}`,
  );
  const unnamed = windows_failed - shown.length;
  return [
    ...(windows_failed > 0 ? [`${windows_failed} of ${count(all, 'window')} failed:`] : []),
    ...shown,
    ...(unnamed > 0 ? [`  and ${unnamed} more`] : []),
    ...(windows_delivered > 0 ? [`Windows that were delivered, and stay: ${windows_delivered}`] : []),
  ];
}
