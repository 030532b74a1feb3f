import { describe, expect, it, vi } from 'vitest';
import { describeOutcome } from '../../../../infra/cli/executions/outcome.ts';
import { resume } from '../../../../infra/cli/executions/resume.ts';
import { runDeployed } from '../../../../infra/cli/run/run.ts';
import { runCommand } from '../../../support/cli.ts';
import { type FakeExecution, STACK, startExecutions } from '../../knowledge/executions/step-functions.ts';
import { writeTemporary } from '../support.ts';

const ACCOUNTS = ['acme', 'globex', 'initech'].map((account) => ({
  account,
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
}));
const REQUEST = {
  name: 'daily',
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  metrics: ['spend'],
  accounts: ACCOUNTS,
  max_accounts: 10,
};

/** The result of an export of these accounts, of which these fail. */
function resultOf(...failed: readonly string[]) {
  const accounts = ACCOUNTS.map(({ account }) => ({
    account,
    execution: `daily-${account}-1`,
    outcome: failed.includes(account) ? 'failed' : 'delivered',
  }));
  return { accounts, has_failed: failed.length > 0 };
}

/** Step Functions reads the history of a failed execution for its accounts. */
function historyOf(...failed: readonly string[]) {
  const output = JSON.stringify(resultOf(...failed));
  return [
    ...Array(3).fill({ type: 'MapIterationStarted' }),
    { type: 'MapIterationSucceeded' },
    { type: 'MapStateExited', stateExitedEventDetails: { name: 'ExportAccounts', output } },
  ];
}

const INCOMPLETE = { status: 'FAILED', error: 'ExportIncomplete', cause: 'Not all.' } as const;

/** An execution of all accounts. */
function earlier(end: Partial<FakeExecution> = INCOMPLETE): FakeExecution {
  return { name: 'daily-1', status: 'SUCCEEDED', begun: 0, ended: 9, input: REQUEST, ...end };
}

async function run(changes: object = {}) {
  const { file: input } = await writeTemporary('request.json', JSON.stringify({ ...REQUEST, ...changes }));
  return runDeployed(undefined, { input }, 1);
}

describe('an export of several accounts', () => {
  it('is started once, followed, and ends with its list', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const end = { status: 'SUCCEEDED', input: JSON.stringify(REQUEST), output: JSON.stringify(resultOf()) };
    const { started } = await startExecutions([], { end, history: historyOf() });
    const outcome = await run();
    const { accounts } = resultOf();
    const execution = expect.stringMatching(/^daily-20261001-20261101-/);
    expect(outcome).toEqual({ outcome: 'delivered', version: '1', execution, accounts });
    expect(started.map(({ input }) => JSON.parse(input))).toEqual([REQUEST]);
    expect(write.mock.calls.join('')).toContain('exporting 3 accounts');
  });

  it('is not started if a request has a fault, which names the account', async () => {
    const { started } = await startExecutions([]);
    const accounts = [...ACCOUNTS, { account: 'umbrella' }];
    await expect(run({ accounts })).rejects.toThrow('advertiser_ids: is missing (account umbrella)');
    expect(started).toEqual([]);
  });

  it('that fails for one names it, with the commands that explain and export the rest', async () => {
    const end = { ...INCOMPLETE, input: JSON.stringify(REQUEST) };
    await startExecutions([], { end, history: historyOf('globex') });
    const outcome = await run();
    expect(outcome.outcome).toBe('failed');
    expect(describeOutcome(outcome, {})).toEqual([
      'The export failed for 1 of 3 accounts.',
      'account  outcome    execution',
      'acme     delivered  daily-acme-1',
      'globex   failed     daily-globex-1',
      'initech  delivered  daily-initech-1',
      'To see why: npm run export -- explain daily-globex-1 --stack exports',
      `Then: npm run export -- resume ${outcome.execution} --stack exports`,
    ]);
  });
});

describe('resume', () => {
  it('takes the accounts that failed', async () => {
    const end = { status: 'SUCCEEDED', output: '{}' };
    const { started } = await startExecutions([earlier()], { end, history: historyOf('globex') });
    await resume('daily-1', 1);
    const only_missing = '2026-11-21T06:00:00.000Z';
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({
      ...REQUEST,
      accounts: [ACCOUNTS[1]],
      scheduled_at: only_missing,
      only_missing,
    });
  });

  it('takes all of an execution that was stopped', async () => {
    const end = { status: 'SUCCEEDED', output: '{}' };
    const { started } = await startExecutions([earlier({ status: 'ABORTED' })], { end });
    await resume('daily-1', 1);
    expect(JSON.parse(started[0]?.input ?? '').accounts).toEqual(ACCOUNTS);
  });
});

describe('explain', () => {
  it.each([
    ['that failed', earlier(), 'globex   failed     daily-globex-1'],
    ['that delivered', earlier({ output: resultOf() }), 'globex   delivered  daily-globex-1'],
  ])('lists the accounts of an execution %s', async (_, execution, line) => {
    await startExecutions([execution], { history: historyOf('globex') });
    const { stdout } = await runCommand(['explain', 'daily-1', ...STACK]);
    expect(stdout).toContain('daily of 3 accounts, 2026-10-01 to 2026-10-31, began 2026-11-21 06:00 UTC');
    expect(stdout).toContain(line);
  });
});
