import { beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../../../infra/sandbox/sandbox.ts';
import { runCommand } from '../../../support/cli.ts';
import { startCommandRun } from '../../../support/command-run.ts';

const RANGE = { start_date: '2026-07-01', end_date: '2026-08-20' };

let out: string;
let sandbox: Sandbox;
let failed: LocalOutcome;
let earlier: LocalOutcome;
let last: LocalOutcome;

/** The parts of a document of `run` that the tests compare. */
interface LocalOutcome {
  readonly execution: string;
  readonly request_ids?: readonly string[];
}

// The first run is of two days and fails. The others deliver all days.
beforeAll(async () => {
  await using opened = new AsyncDisposableStack();
  const faults = ['create status=422'];
  const started = await startCommandRun(RANGE, { faults }, (close) => opened.defer(async () => close()));
  const run = async (...more: string[]): Promise<LocalOutcome> =>
    JSON.parse((await runCommand([...started.args, ...more])).stdout);
  ({ out, sandbox } = started);
  failed = await run('--from', '2026-07-01', '--to', '2026-07-03');
  earlier = await run();
  last = await run();
  const ended = opened.move();
  return () => ended.disposeAsync();
});

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
      execution: last.execution,
      outcome: 'delivered',
      ...request,
      seconds: expect.any(Number),
      started_at: expect.any(String),
      ended_at: expect.any(String),
    },
    { execution: earlier.execution, outcome: 'delivered', ...request, ended_at: expect.any(String) },
    {
      execution: failed.execution,
      outcome: 'failed',
      error: 'RequestRefused',
      account: 'sandbox',
      export: 'daily',
      ended_at: expect.any(String),
    },
  ]);
});

it('explain shows how long each window of the last run took, and which file has its states', async () => {
  const { windows, ...summary } = await show('explain');
  expect(summary).toMatchObject({ execution: last.execution, outcome: 'delivered', export: 'daily' });
  expect(windows).toHaveLength(2);
  for (const { seconds } of windows) expect(seconds).toBeGreaterThan(20);
  const { stdout } = await runCommand(['explain', '--local', '--out', out]);
  expect(stdout.split('\n').at(-2)).toBe(`Each state: ${out}/history.json`);
});

it('explain shows the failure report of an earlier run, whose history is gone', async () => {
  expect(sandbox.reports()).toHaveLength(4);
  expect(await show('explain', failed.execution)).toMatchObject({
    execution: failed.execution,
    outcome: 'failed',
    error: 'RequestRefused',
    failure: { error: 'RequestRefused', request_ids: failed.request_ids },
  });
});

it('status shows the exports of this machine', async () => {
  expect((await show('status')).exports).toEqual([
    {
      account: 'sandbox',
      export: 'daily',
      running: [],
      newest_day: '2026-08-19',
      // Its request ends with the newest day, so no later day is asked for. The last run has settled the
      // failure.
      days: expect.objectContaining({ end_date: '2026-08-20', not_delivered: [], not_renewed: [] }),
      last: expect.objectContaining({ execution: last.execution, outcome: 'delivered' }),
    },
  ]);
});
