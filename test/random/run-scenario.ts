import { addDays, daysOf } from '../../functions/workflow/request/dates.ts';
import { setFaults } from '../support/run-export.ts';
import type { Workflow } from '../support/workflow.ts';
import { askAll, resumeOne } from './ask-commands.ts';
import type { Phase } from './phase.ts';
import type { RequestedDays } from './requested-days.ts';
import { type Names, runPhase } from './run-phase.ts';
import type { RequestedExport, Scenario } from './scenario.ts';
import { isEmptied } from './sources.ts';

/** An account in a scenario with its faults, and then in the same requests without any. */
export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly account: string;
  readonly faulty: Phase;
  readonly clean: Phase;
  /** One of the runs that did not finish is resumed before. */
  readonly resumed: readonly Phase[];
  /** What the commands say after it of the days that it exported. */
  readonly days: readonly RequestedDays[];
  /** What the commands said wrong after any phase, and what `resume` did wrong. */
  readonly wrongAnswers: readonly string[];
  /** One of the requests with other metrics. */
  readonly changed: readonly Phase[];
}

/** An account without a credential. */
const UNKNOWN = 'unknown';

/** @param endFaults called between the two phases @returns the run of each account */
export async function runScenario(
  workflow: Workflow,
  scenario: Scenario,
  names: Names,
  endFaults: () => void,
): Promise<ScenarioRun[]> {
  if (scenario.revoked) workflow.sandbox.revokeTokens();
  const { platform, s3, secrets, glue, bus } = scenario;
  const exports = scenario.exports.map((exported) => withDates(exported, workflow.clock.now()));
  setFaults(workflow, { faults: platform, s3, secrets, glue, events: bus });
  using newcomer = addNewcomer(workflow, scenario);
  const started = scenario.accounts?.isTwice ? [...exports, ...exports] : exports;
  const asked = scenario.accounts?.hasUnknown ? [...names.accounts, UNKNOWN] : names.accounts;
  const faulty = await runPhase(workflow, started, { ...names, accounts: asked }, scenario);
  setFaults(workflow, {});
  newcomer.accept();
  endFaults();
  const valid = exports.filter(({ invalid }) => !invalid);
  const again = new Map(valid.map((request) => [JSON.stringify([request.name, request.fields]), request]));
  const { prefix } = names;
  const emptied = isEmptied({ scenario });
  const judge = async (when: string, phases: readonly Phase[], asked: readonly RequestedExport[]) =>
    Promise.all(
      names.accounts.map((account, at) =>
        askAll(workflow, { when, account, asked, prefix, emptied }, phases[at]),
      ),
    );
  const answers = [await judge('after the faults', faulty, valid)];
  const resumed: Phase[][] = [];
  const notResumed: (readonly string[])[] = [];
  for (const [at, account] of names.accounts.entries()) {
    const answer = answers[0]?.[at];
    const finished = answer && (await resumeOne(workflow, { account, prefix, emptied }, faulty[at], answer));
    resumed.push(finished ? [finished.phase] : []);
    notResumed.push(finished?.wrong ?? []);
  }
  const clean = await runPhase(workflow, [...again.values()], names);
  answers.push(await judge('after the run without faults', clean, [...again.values()]));
  const [first] = valid;
  const changed: Phase[][] = [];
  for (const request of first && scenario.addsMetric ? changesOf(first, scenario) : []) {
    const phase = await runPhase(workflow, [request], names);
    changed.push(phase);
    answers.push(await judge('after the change', phase, [request]));
  }
  return names.accounts.flatMap((account, at) => {
    const phases = {
      faulty: faulty[at],
      resumed: resumed[at],
      clean: clean[at],
      changed: changed.map((phase) => phase[at]),
      days: answers[1]?.[at]?.days,
      wrongAnswers: [...answers.flatMap((answer) => answer[at]?.wrong ?? []), ...(notResumed[at] ?? [])],
    };
    return phases.faulty && phases.clean ? [{ scenario, account, ...phases } as ScenarioRun] : [];
  });
}

/** A metric comes, leaves or gets another name, and comes back. Only the first one exports all days. */
function changesOf(first: RequestedExport, { metricLeaves }: Scenario): RequestedExport[] {
  const more = withMetrics(first, 'clicks');
  if (!metricLeaves) return [more];
  const without = metricLeaves === 'renamed' ? withMetrics(first, 'number_of_purchases') : first;
  return [more, onlyDay(without, 0), onlyDay(more, 1)];
}

/** @param day of the request; the last one if there are fewer */
function onlyDay(requested: RequestedExport, day: number): RequestedExport {
  const { start_date, end_date } = requested.fields as Record<'start_date' | 'end_date', string>;
  const days = daysOf({ start_date, end_date });
  const only = days[Math.min(day, days.length - 1)] ?? start_date;
  return { ...requested, fields: { ...requested.fields, start_date: only, end_date: addDays(only, 1) } };
}

const NEWCOMER = 'd4a6b8c0-3e5f-4b7d-8c9e-1f2a3b4c5d04';

/** The advertiser is there until the end of the scenario. */
function addNewcomer({ sandbox: { options }, clock }: Workflow, { newcomer }: Scenario) {
  const accept = (isRefused = false) => {
    if (!newcomer) return;
    options.addedAdvertisers = [NEWCOMER];
    options.refusedAdvertisers = isRefused ? [NEWCOMER] : [];
  };
  const after = (1000 * (newcomer?.after ?? 0)) / clock.speed;
  const timer = setTimeout(accept, after, newcomer?.isRefused);
  return {
    accept() {
      clearTimeout(timer);
      accept();
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      delete options.addedAdvertisers;
      delete options.refusedAdvertisers;
    },
  };
}

function withMetrics({ fields, ...requested }: RequestedExport, ...more: string[]): RequestedExport {
  return { ...requested, fields: { ...fields, metrics: [...(fields.metrics as string[]), ...more] } };
}

const DAY_MS = 86_400_000;

function withDates(requested: RequestedExport, now: number): RequestedExport {
  const { days, fields } = requested;
  if (!days) return requested;
  const date = (day: number) => new Date(now + day * DAY_MS).toISOString().slice(0, 10);
  return { ...requested, fields: { ...fields, start_date: date(days.from), end_date: date(days.to) } };
}
