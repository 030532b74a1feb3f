import { afterAll, expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';

const RANGE = { start_date: '2026-07-01', end_date: '2026-08-20' };

// The first run is of two days and fails. The others deliver all days.
const { args, out, sandbox } = await startCommandRun(RANGE, { faults: ['create status=422'] }, afterAll);
const failed = JSON.parse((await runCommand([...args, '--from', '2026-07-01', '--to', '2026-07-03'])).stdout);
const earlier = JSON.parse((await runCommand(args)).stdout);
const last = JSON.parse((await runCommand(args)).stdout);

/** Runs a command on the folder of the runs, and returns the document that it prints. */
async function show(...command: string[]) {
  const { status, stdout, stderr } = await runCommand([...command, '--local', '--out', out, '--json']);
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

it('list shows the last run, and the announced ends of the runs before it', async () => {
  const request = { account: 'sandbox', export: 'daily', ...RANGE };
  expect((await show('list')).executions).toEqual([
    {
      ...{ execution: last.execution, outcome: 'delivered', ...request, seconds: expect.any(Number) },
      ...{ started_at: expect.any(String), ended_at: expect.any(String) },
    },
    { execution: earlier.execution, outcome: 'delivered', ...request, ended_at: expect.any(String) },
    {
      ...{ execution: failed.execution, outcome: 'failed', error: 'RequestRefused' },
      ...{ account: 'sandbox', export: 'daily', ended_at: expect.any(String) },
    },
  ]);
});

it('explain shows what each window of the last run waited for', async () => {
  const { windows, ...summary } = await show('explain');
  expect(summary).toMatchObject({ execution: last.execution, outcome: 'delivered', export: 'daily' });
  expect(windows).toHaveLength(2);
  for (const { steps, seconds, outcome } of windows) {
    expect(outcome).toBe('delivered');
    const wait = steps.find(({ state }: { state: string }) => state === 'WaitForReport');
    expect(wait.seconds).toBeGreaterThanOrEqual(20);
    expect(seconds).toBeGreaterThan(wait.seconds);
  }
});

it('explain shows the failure report of an earlier run, whose history is gone', async () => {
  expect(sandbox.reports()).toHaveLength(4);
  expect(await show('explain', failed.execution)).toMatchObject({
    ...{ execution: failed.execution, outcome: 'failed', error: 'RequestRefused' },
    failure: { error: 'RequestRefused', request_ids: failed.request_ids },
  });
});

it('status shows the exports of this machine', async () => {
  expect((await show('status')).exports).toEqual([
    {
      ...{ account: 'sandbox', export: 'daily', running: [], newest_day: '2026-08-19', missing: [] },
      last: expect.objectContaining({ execution: last.execution, outcome: 'delivered' }),
      failure: expect.objectContaining({ execution: failed.execution, error: 'RequestRefused' }),
    },
  ]);
});
