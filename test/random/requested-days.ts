import { daysOf, earliest, latestDate } from '../../functions/workflow/request/dates.ts';
import { planRequest } from '../../infra/operate/cli/run/plan.ts';
import type { AskedDays } from '../../infra/operate/days/days-to-look-at.ts';
import { readExportStatus } from '../../infra/operate/days/export-status.ts';
import { findExport } from '../../infra/operate/days/find-exports.ts';
import { type JudgedRange, judgeExport } from '../../infra/operate/days/judge-export.ts';
import { findUnfinished, type UnfinishedRun } from '../../infra/operate/days/open-runs.ts';
import { openToRead } from '../../infra/operate/place/bucket.ts';
import type { Workflow } from '../support/workflow.ts';
import { type AskedExport, type ExpectedDays, expectDays } from './expected-days.ts';
import type { Phase } from './phase.ts';

/** What the commands say of an export, and what happened. */
export interface RequestedDays extends AskedExport {
  readonly expected: ExpectedDays;
  /** What `missing` and `status` say. A query for purchases has no days. */
  readonly told: readonly ToldDays[];
  /** The days of the windows that `plan --only-missing` names, and whether a window has no day to mend. */
  readonly planned: readonly string[];
  /** The days that it could name. */
  readonly range: readonly string[];
}

interface ToldDays {
  readonly command: 'missing' | 'status';
  readonly days: JudgedRange['days'];
  readonly runs: readonly UnfinishedRun[];
}

/**
 * Asks the commands about an export after its executions have ended.
 *
 * @param input of its last execution
 * @returns undefined if no run of it has begun, so nobody knows it
 */
export async function readDays(
  workflow: Workflow,
  asked: AskedExport,
  input: Readonly<Record<string, unknown>>,
  phase: Pick<Phase, 'objects' | 'tables'>,
): Promise<RequestedDays | undefined> {
  const { account, name, requested } = asked;
  const { out, clock } = workflow;
  const isKnown = [...phase.objects.keys()].some(
    (key) => key.includes(`account=${account}/export=${name}/`) && /(_manifest\.json|\/_runs\/.*)$/.test(key),
  );
  if (!isKnown) return undefined;
  const place = { local: true, out, account } as const;
  await using store = await openToRead(place);
  const now = new Date(clock.now());
  const isReport = requested.fields.kind === 'report';
  const dates = isReport ? { from: requested.fields.start_date, to: requested.fields.end_date } : {};
  const records = await findExport(name, place, store, now, dates as AskedDays);
  const runs = findUnfinished(records, [], place, now);
  const judged = requested.fields.kind === 'purchases' ? undefined : await judgeExport(store, records);
  const { exports } = await readExportStatus(`${account}/${name}`, place, store, now);
  const told = (
    command: ToldDays['command'],
    days: JudgedRange['days'] = [],
    lines: readonly UnfinishedRun[] = runs,
  ) => ({ command, days, runs: lines });
  const plan = await planRequest(
    { ...requested.fields, ...input, name, account, only_missing: true },
    { ...place, onlyMissing: true },
  );
  const expected = await expectDays(workflow, asked, phase);
  return {
    ...asked,
    expected,
    told: [
      told('missing', judged?.days),
      ...exports.map((shown) => told('status', shown.days, shown.missing?.runs)),
    ],
    planned: plan.windows.flatMap((window) => daysOf(window)),
    range: isReport ? daysOf({ start_date: String(dates.from), end_date: String(dates.to) }) : [],
  };
}

/** The days of several requests of one name, and the request of the last one. */
export function joinRequested(asked: readonly Omit<AskedExport, 'days'>[]): AskedExport[] {
  return [...Map.groupBy(asked, ({ name }) => name).values()].flatMap((some) => {
    const last = some.at(-1);
    if (!last) return [];
    const fields = some.map(({ requested }) => requested.fields as Record<string, string>);
    const start_date = earliest(fields.flatMap((dates) => dates.start_date ?? []));
    const end_date = latestDate(fields.flatMap((dates) => dates.end_date ?? []));
    const dates = { ...(start_date && { start_date }), ...(end_date && { end_date }) };
    const requested = { ...last.requested, fields: { ...last.requested.fields, ...dates } };
    const days = fields.flatMap(({ start_date = '', end_date = '' }) => daysOf({ start_date, end_date }));
    return [{ ...last, requested, days }];
  });
}

/** A line for each command that says something else than what happened. */
export function wrongAnswers(
  when: string,
  { name, expected, told, planned, range }: RequestedDays,
): string[] {
  const words = `${name} ${when}`;
  const states = told.flatMap(({ command, days }) =>
    days.flatMap(({ day, state }) => {
      const right = expected.stateOf(day);
      return state === right ? [] : [`days: ${words}: ${command} calls ${day} ${state}, and it is ${right}`];
    }),
  );
  const isToMend = (day: string) => ['missing', 'older'].includes(expected.stateOf(day));
  const unplanned = range.filter((day) => isToMend(day) && !planned.includes(day));
  const isNeedless = range.length > 0 && planned.length > 0 && !planned.some(isToMend);
  return [
    ...states,
    ...unplanned.map((day) => `days: ${words}: plan --only-missing leaves out ${day}`),
    ...(isNeedless ? [`days: ${words}: plan --only-missing exports ${planned}`] : []),
    ...told.flatMap(({ command, runs }) => wrongLines(`${words}: ${command}`, expected, runs)),
  ];
}

/** Every run that failed has one line until its days have reports that were created since it began. */
function wrongLines(
  words: string,
  { runs, unstarted, stateOf }: ExpectedDays,
  lines: readonly UnfinishedRun[],
): string[] {
  const open = runs.filter((run) => run.open.length > 0);
  const isUnstarted = ({ execution, missing, not_renewed }: UnfinishedRun) =>
    unstarted.some(
      (run) =>
        run.open.length > 0 &&
        run.open.length === missing + not_renewed &&
        execution.startsWith(run.prefix) &&
        !runs.some((started) => started.execution === execution),
    );
  const unknown = lines.filter(
    (line) => !open.some(({ execution }) => execution === line.execution) && !isUnstarted(line),
  );
  const wrong = open.flatMap(({ execution, open: days, mayBeAbsent }) => {
    const ofRun = lines.filter((line) => line.execution === execution);
    if (ofRun.length === 0 && mayBeAbsent) return [];
    if (ofRun.length !== 1) return [`runs: ${words} has ${ofRun.length} lines of ${execution}`];
    const missing = days.filter((day) => stateOf(day) === 'missing').length;
    const right = `${missing} missing, ${days.length - missing} not renewed`;
    const [line] = ofRun;
    const told = `${line?.missing} missing, ${line?.not_renewed} not renewed`;
    return told === right ? [] : [`runs: ${words} says of ${execution} ${told}, and it has ${right}`];
  });
  return [...unknown.map(({ execution }) => `runs: ${words} has a line of ${execution}`), ...wrong];
}
