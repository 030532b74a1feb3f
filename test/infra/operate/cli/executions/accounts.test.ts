import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { describeOutcome, printOutcome } from '../../../../../infra/operate/cli/executions/print-outcome.ts';
import { resume } from '../../../../../infra/operate/cli/executions/resume.ts';
import { runDeployed } from '../../../../../infra/operate/cli/run/run.ts';
import { runCommand } from '../../../../support/cli.ts';
import { type FakeExecution, STACK, startExecutions } from '../../executions/step-functions.ts';
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
    ...(failed.includes(account)
      ? { outcome: 'failed', error: 'States.TaskFailed' }
      : { outcome: 'delivered' }),
  }));
  return { accounts, has_failed: failed.length > 0 };
}

/** The same if none was started, because the executions of all had been started before. */
function allRepeated() {
  return { accounts: resultOf().accounts.map((end) => ({ ...end, outcome: 'repeated' })), has_failed: false };
}

/** Step Functions reads the history of a failed execution for its accounts. */
function historyOf(...failed: readonly string[]) {
  return historyWith(resultOf(...failed));
}

function historyWith(result: object) {
  const output = JSON.stringify(result);
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

afterEach(() => {
  process.exitCode = undefined;
});

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

  it('is not started if one execution cannot carry its accounts, and the fault says what to do', async () => {
    const { started } = await startExecutions([]);
    const accounts = Array.from({ length: 200 }, (_, at) => ({
      account: `account-${at}`,
      advertiser_ids: Array.from({ length: 30 }, () => randomUUID()),
    }));
    await expect(run({ accounts })).rejects.toThrow(
      /accounts: have 2\d{5} bytes, more than the 60000 that .* about 4\d of the 200 accounts at a time, with --input/,
    );
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

describe('an account whose execution could not be started', () => {
  const DENIED = 'StepFunctions.AWSStepFunctionsException';
  const { accounts } = resultOf('acme');
  const result = {
    accounts: accounts.map((end) =>
      end.account === 'globex' ? { ...end, outcome: 'failed', error: DENIED } : end,
    ),
    has_failed: true,
  };

  it("has the error's name in the result of run, which explains an execution that exists", async () => {
    const end = { ...INCOMPLETE, input: JSON.stringify(REQUEST) };
    await startExecutions([], { end, history: historyWith(result) });
    const outcome = await run();
    expect(outcome).toMatchObject({
      outcome: 'failed',
      accounts: [{}, { account: 'globex', error: DENIED }, {}],
    });
    const lines = describeOutcome(outcome, {});
    expect(lines).toContain(`globex   failed: ${DENIED}  daily-globex-1`);
    expect(lines).toContain('Not started, so no execution says more: globex');
    expect(lines).toContain('To see why: npm run export -- explain daily-acme-1 --stack exports');
  });

  it("has the error's name in explain", async () => {
    await startExecutions([earlier()], { history: historyWith(result) });
    const { stdout } = await runCommand(['explain', 'daily-1', ...STACK]);
    expect(stdout).toContain(`globex   failed: ${DENIED}  daily-globex-1`);
    const { failure } = JSON.parse((await runCommand(['explain', 'daily-1', ...STACK, '--json'])).stdout);
    expect(failure.accounts[1]).toMatchObject({ account: 'globex', error: DENIED });
  });
});

describe('executions of accounts that had all been started before', () => {
  it('make run fail, which says that nothing was exported and what to do', async () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const result = allRepeated();
    const end = { status: 'SUCCEEDED', input: JSON.stringify(REQUEST), output: JSON.stringify(result) };
    await startExecutions([], { end, history: historyWith(result) });
    const outcome = await run();
    expect(outcome).toMatchObject({ outcome: 'failed', accounts: result.accounts });
    printOutcome(outcome, {});
    expect(process.exitCode).toBe(1);
    const lines = describeOutcome(outcome, {});
    expect(lines[0]).toBe('Nothing was exported: the executions of all accounts had been started before.');
    expect(lines).toContain('acme     repeated  daily-acme-1');
    expect(lines).toContain('To see how they ended: npm run export -- explain daily-acme-1 --stack exports');
    expect(lines.at(-1)).toBe('To export what is missing: the same request with --only-missing');
  });

  it('are named by resume, which does not say that all is delivered', async () => {
    await startExecutions([earlier({ output: allRepeated() })]);
    const refused = await resume('daily-1', 1).catch((error: Error) => error);
    expect(refused).toMatchObject({
      name: 'UsageError',
      message: expect.stringContaining(
        'exported nothing of acme, because daily-acme-1 had been started before',
      ),
    });
  });
});

describe('a redrive', () => {
  const redriven = () => earlier({ ...INCOMPLETE, redriveCount: 1 });

  it('that started no execution again names the accounts, and the command that exports the rest', async () => {
    await startExecutions([redriven()], { history: historyWith(allRepeated()) });
    const { stdout } = await runCommand(['explain', 'daily-1', ...STACK]);
    expect(stdout).toContain('The export failed for 3 of 3 accounts.');
    expect(stdout).toContain(
      'Started before the redrive, which starts no execution again: acme, globex, initech\n',
    );
    expect(stdout).toContain('Then: npm run export -- resume daily-1 --stack exports\n');
  });

  it('that started no execution again is resumed for its accounts', async () => {
    const end = { status: 'SUCCEEDED', output: '{}' };
    const { started } = await startExecutions([redriven()], { end, history: historyWith(allRepeated()) });
    await resume('daily-1', 1);
    expect(JSON.parse(started[0]?.input ?? '').accounts).toEqual(ACCOUNTS);
  });
});

describe('resume', () => {
  it('takes the accounts that failed', async () => {
    const end = { status: 'SUCCEEDED', output: '{}' };
    const { started } = await startExecutions([earlier()], { end, history: historyOf('globex') });
    await resume('daily-1', 1);
    const began_at = '2026-11-21T06:00:00.000Z';
    expect(JSON.parse(started[0]?.input ?? '')).toEqual({
      ...REQUEST,
      accounts: [ACCOUNTS[1]],
      scheduled_at: began_at,
      resumes: { execution: 'daily-1', began_at },
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
