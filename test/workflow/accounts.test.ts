import { expect, it } from 'vitest';
import type { AccountsResult } from '../../functions/workflow/states.ts';
import { type Assembly, loadAssembly, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { costOfAccounts } from '../support/monthly-cost.ts';
import { recordJournals, startFastWorkflow } from '../support/run-export.ts';
import { follow } from '../support/workflow.ts';

const ACCOUNTS = ['acme', 'globex', 'initech'];

/** A workflow with three accounts, each with an advertiser of its own. */
async function startAccounts({ refused, assembly }: { refused?: string; assembly?: Assembly } = {}) {
  const credentials = ACCOUNTS.map((account) => ({
    account,
    ...(account === refused && { advertisers: [] }),
  }));
  const workflow = await startFastWorkflow({ sandbox: { credentials }, ...(assembly && { assembly }) });
  const { account: _, advertiser_ids: __, ...what } = workflow.request({ name: 'daily' });
  const accounts = ACCOUNTS.map((account, at) => ({
    account,
    advertiser_ids: [workflow.sandbox.advertiserIds[at]],
    ...(at === 0 && { time_zone: 'Europe/Berlin' }),
  }));
  return { workflow, input: { accounts, max_accounts: 2, ...what } };
}

const outcomes = (result: unknown) => (result as AccountsResult).accounts.map(({ outcome }) => outcome);

it('an export of three accounts exports two at a time, and one that fails stops no other', async () => {
  const { workflow, input } = await startAccounts({ refused: 'globex' });
  await using _ = workflow;
  const since = recordJournals(workflow);
  const ended = await follow(workflow.export(input));

  expect(ended).toMatchObject({ status: 'FAILED', error: 'ExportIncomplete' });
  const list = ended.events.findLast(
    ({ type, state }) => type === 'StateExited' && state === 'ExportAccounts',
  );
  expect(outcomes(list?.output)).toEqual(['delivered', 'failed', 'delivered']);
  const times = workflow.executions.slice(1).map(({ events }) => events.map(({ time }) => time));
  const [first, second, third] = times.map((ofRun) => ({ begin: ofRun[0] ?? '', end: ofRun.at(-1) ?? '' }));
  expect(third && [first, second].some((earlier) => earlier && earlier.end <= third.begin)).toBe(true);
  const journals = since();
  expect(journals.announced.map((event) => event['detail-type']).sort()).toEqual([
    'Report Export Failed',
    'Report Exported',
    'Report Exported',
  ]);
  const inputs = workflow.executions.slice(1).map(({ events }) => events[0]?.input);
  const { accounts, max_accounts: __, ...what } = input;
  expect(inputs).toEqual(
    accounts.map((facts) => ({ ...facts, ...what, scheduled_at: expect.stringMatching(/^20/) })),
  );
});

it('29: a scheduled run that starts twice exports each account once, also if it starts again later', async () => {
  const { workflow, input } = await startAccounts();
  await using _ = workflow;
  const scheduled = { ...input, scheduled_at: new Date(workflow.clock.now()).toISOString() };
  const twice = [workflow.export(scheduled), workflow.export(scheduled)].map(follow);
  for (const { output } of await Promise.all(twice))
    expect(outcomes(output)).toEqual(Array(3).fill('delivered'));
  const { output, events } = await follow(workflow.export(scheduled));
  expect(outcomes(output)).toEqual(Array(3).fill('repeated'));
  expect(workflow.sandbox.reports()).toHaveLength(3);
  const entered = events.filter(({ type }) => type === 'StateEntered');
  expect(entered).toHaveLength(costOfAccounts(3).transitions);
  expect(workflow.bus.events).toHaveLength(3);
});

/** The stack of an execution that was redriven. The interpreter itself knows no redrive. */
function redriven(): Assembly {
  const text = JSON.stringify(loadAssembly(prepareAssembly()));
  return JSON.parse(text, (_, value) => {
    if (value?.Variable !== '$$.Execution.RedriveCount') return value;
    expect(value).toMatchObject({ NumericGreaterThan: 0 });
    return { Variable: '$$.Execution.RedriveCount', NumericEquals: 0 };
  });
}

it('63: a redrive of a scheduled run whose accounts had been started before fails and exports nothing', async () => {
  const { workflow, input } = await startAccounts({ assembly: redriven() });
  await using _ = workflow;
  const scheduled = { ...input, scheduled_at: new Date(workflow.clock.now()).toISOString() };
  expect((await follow(workflow.export(scheduled))).status).toBe('SUCCEEDED');
  const again = await follow(workflow.export(scheduled));
  expect(again).toMatchObject({ status: 'FAILED', error: 'ExportIncomplete' });
  expect(again.cause).toContain('had been started before');
  const list = again.events.findLast(
    ({ type, state }) => type === 'StateExited' && state === 'ExportAccounts',
  );
  expect(outcomes(list?.output)).toEqual(Array(3).fill('repeated'));
  expect(workflow.sandbox.reports()).toHaveLength(3);
});
