import type { Workflow } from '../support/workflow.ts';
import type { Phase } from './phase.ts';
import { joinRequested, type RequestedDays, readDays, wrongAnswers } from './requested-days.ts';
import { idsFor, runPhase } from './run-phase.ts';
import type { RequestedExport } from './scenario.ts';

interface Asking {
  readonly when: string;
  readonly emptied: boolean;
  readonly account: string;
  readonly prefix: string;
  readonly asked: readonly RequestedExport[];
}

export interface Answers {
  readonly days: readonly RequestedDays[];
  readonly wrong: readonly string[];
}

/** Asks the commands about each export of an account. */
export async function askAll(
  workflow: Workflow,
  { when, account, prefix, asked, emptied }: Asking,
  phase: Phase | undefined,
): Promise<Answers> {
  if (!phase) return { days: [], wrong: [] };
  const all = joinRequested(
    asked.map((requested) => ({ account, name: `${prefix}-${requested.name}`, requested, emptied })),
  );
  const days: RequestedDays[] = [];
  for (const exported of all) {
    const read = await readDays(workflow, exported, idsFor(exported.requested, workflow), phase);
    if (read) days.push(read);
  }
  return { days, wrong: days.flatMap((requested) => wrongAnswers(when, requested)) };
}

/** Resumes a run that did not finish, as the command that its line has does. */
export async function resumeOne(
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
  const expected = days.flatMap(({ expected: { runs } }) => runs).find((run) => run.execution === execution);
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
