import { globSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MANIFEST } from '../../functions/workflow/keys.ts';
import { addDays, daysOf } from '../../functions/workflow/request/dates.ts';
import type { Call } from '../../infra/lab/sandbox/exchange.ts';
import type { JsonCall, S3Call } from '../support/faulty-services.ts';
import { setFaults } from '../support/run-export.ts';
import type { Workflow } from '../support/workflow.ts';
import type { Announced, Ended, Phase } from './phase.ts';
import { joinRequested, type RequestedDays, readDays, wrongAnswers } from './requested-days.ts';
import type { RequestedExport, Scenario } from './scenario.ts';
import { isEmptied } from './sources.ts';
import { readTable } from './tables.ts';

/**
 * Real milliseconds within which a run has to end. At 1000 times the speed a window's worst case of 4 h takes
 * 15 s, and three of them one after the other 45 s. The rest is for a busy machine.
 */
const DEADLINE = 240_000;

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

export interface Names {
  /** One account, or all accounts of the scenario's only export. */
  readonly accounts: readonly string[];
  /** No other scenario of the workflow has it. */
  readonly prefix: string;
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
  const exports = scenario.exports.map((each) => withDates(each, workflow.clock.now()));
  setFaults(workflow, { faults: platform, s3, secrets, glue, events: bus });
  using newcomer = addNewcomer(workflow, scenario);
  const started = scenario.accounts?.isTwice ? [...exports, ...exports] : exports;
  const asked = scenario.accounts?.hasUnknown ? [...names.accounts, UNKNOWN] : names.accounts;
  const faulty = await runPhase(workflow, started, { ...names, accounts: asked }, scenario);
  setFaults(workflow, {});
  newcomer.accept();
  endFaults();
  const valid = exports.filter(({ invalid }) => !invalid);
  const again = new Map(valid.map((one) => [JSON.stringify([one.name, one.fields]), one]));
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
    const said = answers[0]?.[at];
    const finished = said && (await resumeOne(workflow, { account, prefix, emptied }, faulty[at], said));
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
      wrongAnswers: [...answers.flatMap((each) => each[at]?.wrong ?? []), ...(notResumed[at] ?? [])],
    };
    return phases.faulty && phases.clean ? [{ scenario, account, ...phases } as ScenarioRun] : [];
  });
}

interface Asking {
  readonly when: string;
  readonly emptied: boolean;
  readonly account: string;
  readonly prefix: string;
  readonly asked: readonly RequestedExport[];
}

interface Answers {
  readonly days: readonly RequestedDays[];
  readonly wrong: readonly string[];
}

/** Asks the commands about each export of an account. */
async function askAll(
  workflow: Workflow,
  { when, account, prefix, asked, emptied }: Asking,
  phase: Phase | undefined,
): Promise<Answers> {
  if (!phase) return { days: [], wrong: [] };
  const all = joinRequested(
    asked.map((requested) => ({ account, name: `${prefix}-${requested.name}`, requested, emptied })),
  );
  const days: RequestedDays[] = [];
  for (const each of all) {
    const read = await readDays(workflow, each, idsFor(each.requested, workflow), phase);
    if (read) days.push(read);
  }
  return { days, wrong: days.flatMap((each) => wrongAnswers(when, each)) };
}

/** Resumes a run that did not finish, as the command that its line has does. */
async function resumeOne(
  workflow: Workflow,
  of: Pick<Asking, 'account' | 'prefix' | 'emptied'>,
  faulty: Phase | undefined,
  { days }: Answers,
): Promise<{ readonly phase: Phase; readonly wrong: readonly string[] } | undefined> {
  const lines = days.flatMap(({ told }) => told.slice(0, 1).flatMap(({ runs }) => runs));
  const ended = faulty?.ended.find(({ execution }) => lines.some((line) => line.execution === execution));
  const line = lines.find(({ execution }) => execution === ended?.execution);
  if (!ended || !line) return undefined;
  const { execution, began_at } = line;
  const { requested } = ended;
  const resumes = { execution, began_at };
  const before = workflow.executions.length;
  const input = { ...requested, fields: { ...requested.fields, resumes }, startAfter: 0 };
  const [phase] = await runPhase(workflow, [input], { accounts: [of.account], prefix: of.prefix });
  if (!phase) return undefined;
  const answers = await askAll(workflow, { when: 'after resume', ...of, asked: [requested] }, phase);
  const expected = days.flatMap((each) => each.expected.runs).find((run) => run.execution === execution);
  const right = expected?.windows.map((window) => `${window.start_date}`).toSorted();
  const [{ events = [] } = {}] = workflow.executions.slice(before);
  const plan = events.find(({ type, state }) => type === 'StateExited' && state === 'PlanExport');
  const windows = (Object(plan?.output).windows ?? []) as { start_date: string; content?: string }[];
  const exported = windows.flatMap(({ start_date, content }) => (content ? [] : [start_date])).toSorted();
  const failed = phase.ended.filter(({ status }) => status !== 'SUCCEEDED');
  const stays = answers.days.flatMap(({ told }) =>
    told.flatMap(({ runs, command }) => (runs.some((run) => run.execution === execution) ? [command] : [])),
  );
  const wrong = [
    ...failed.map(({ error, cause }) => `resume: ${execution} failed again: ${error} ${cause}`),
    ...stays.map((command) => `resume: ${command} still has a line of ${execution}`),
    ...(String(exported) === String(right)
      ? []
      : [`resume: ${execution} exports ${exported} and not ${right}`]),
    ...answers.wrong,
  ];
  return { phase, wrong };
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

/** @returns what concerns each account, beside what the accounts have in common */
async function runPhase(
  workflow: Workflow,
  exports: readonly RequestedExport[],
  { accounts, prefix }: Names,
  kills: Pick<Scenario, 'kills' | 'tableKills'> = { kills: [], tableKills: [] },
): Promise<Phase[]> {
  const { sandbox, s3, bus, executions, clock } = workflow;
  const from = {
    calls: sandbox.journal.length,
    s3: s3.journal.length,
    events: bus.events.length,
    executions: executions.length,
  };
  const announced: Announced[] = [];
  const record = () => {
    const news = bus.events.slice(from.events + announced.length);
    announced.push(...news.map((event) => ({ event, after: s3.journal.length - from.s3 })));
  };
  using _ = killAtCalls(workflow, kills);
  // A scheduled run that starts twice names the same time.
  const scheduled_at = new Date(clock.now()).toISOString();
  const [only = ''] = accounts;
  const who =
    accounts.length === 1
      ? { account: only }
      : { accounts: accounts.map((account) => ({ account })), max_accounts: 2, scheduled_at };
  const running = exports.map(async (requested): Promise<Ended> => {
    const name = `${prefix}-${requested.name}`;
    if (requested.startAfter) await sleep((1000 * requested.startAfter) / clock.speed);
    const request = { ...requested.fields, ...idsFor(requested, workflow), name, ...who };
    const execution = workflow.export(request, `${name}-${executions.length}`);
    execution.listen(record);
    const late = sleep(DEADLINE, {}, { ref: false });
    return { requested, execution: execution.name, ...(await Promise.race([execution.result, late])) };
  });
  const started = await Promise.all(running);
  const common = { announced, calls: sandbox.journal.slice(from.calls), s3: s3.journal.slice(from.s3) };
  const all = executions.slice(from.executions);
  const phases = accounts.map(async (account): Promise<Phase> => {
    const own = all.filter(({ events }) => Object(events[0]?.input).account === account);
    const reports = exports.filter(({ fields, invalid }) => fields.kind === 'report' && !invalid);
    const tables = [...new Map(reports.map((each) => [each.name, each]))].map(([exported, { fields }]) => {
      const name = `${prefix}-${exported}`;
      const histories = own.flatMap(({ execution, events }) =>
        execution.startsWith(`${name}-`) ? [events] : [],
      );
      return readTable(workflow, { name, account, metrics: fields.metrics as string[] }, histories);
    });
    const [requested] = exports;
    const children = own.flatMap(({ execution, result }) =>
      requested ? [{ requested, execution, ...result }] : [],
    );
    return {
      ...common,
      ...(accounts.length === 1 ? { ended: started, parents: [] } : { ended: children, parents: started }),
      ...(await objectsOf(workflow, account, prefix)),
      tables: await Promise.all(tables),
    };
  });
  return Promise.all(phases);
}

function idsFor({ fields, invalid }: RequestedExport, { sandbox }: Workflow): Record<string, unknown> {
  const { advertiser_ids = sandbox.advertiserIds.slice(0, 2) } = fields;
  if (fields.kind === 'report') return { advertiser_ids };
  return fields.kind === 'purchases' && !invalid ? { advertiser_id: sandbox.advertiserIds[0] } : {};
}

type AnyCall = Call | S3Call | JsonCall;

/**
 * Kills functions after these of the calls from now on. At a call, not at a time, so that a seed kills at the
 * same place again.
 *
 * @param kills counts all calls @param tableKills counts CurateReport's calls that concern the table
 */
function killAtCalls(workflow: Workflow, { kills, tableKills }: Pick<Scenario, 'kills' | 'tableKills'>) {
  const { sandbox, s3, secrets, glue } = workflow;
  const journals = [sandbox, s3, secrets, glue].map(({ journal }) => journal as AnyCall[]);
  let calls = 0;
  let ofTable = 0;
  const count = (call: AnyCall) => {
    if (kills.includes(++calls)) killAll(workflow);
    if (isOfTable(call) && tableKills.includes(++ofTable)) void workflow.functionOf('CurateReport').kill();
  };
  for (const journal of journals) {
    journal.push = (...entries) => {
      entries.forEach(count);
      return Array.prototype.push.apply(journal, entries);
    };
  }
  return {
    [Symbol.dispose]() {
      for (const journal of journals) Reflect.deleteProperty(journal, 'push');
    },
  };
}

/** A call that concerns the table: its schema, an object of a month, or one of the ledger. */
function isOfTable(call: AnyCall): boolean {
  return 'table' in call || ('key' in call && call.key.endsWith('.parquet'));
}

function killAll(workflow: Workflow): void {
  for (const { environment } of workflow.assembly.functions)
    void workflow.functionOf(environment.STEP ?? '').kill();
}

/** Reads only the folders of these exports, because earlier scenarios may have left many. */
async function objectsOf({ out, bucket, object }: Workflow, account: string, prefix: string) {
  const keys = globSync(`exports/account=${account}/export=${prefix}-*/**/*.*`, { cwd: join(out, bucket) });
  const read = async (bytes: Promise<Buffer>, meta: string) => {
    const { contentEncoding: encoding } = JSON.parse(String(await object(meta)));
    return { bytes: await bytes, ...(encoding && { encoding }) };
  };
  const files = keys.sort().map(async (key) => [key, await read(object(key), `.meta/${key}.json`)] as const);
  const objects = new Map(await Promise.all(files));
  const named = [...objects].flatMap(([key, { bytes }]) =>
    key.endsWith(`/${MANIFEST}`) ? [[key, JSON.parse(String(bytes))] as const] : [],
  );
  const published = named.map(async ([key, { key: of, version_id: id }]) => {
    return [key, await read(object(of, id), `.versions/${id}.json`)] as const;
  });
  return { objects, published: new Map(await Promise.all(published)) };
}
