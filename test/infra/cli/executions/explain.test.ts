import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createHistory, keepSaving } from '../../../../infra/local/step-functions/history.ts';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { plan } from '../../knowledge/deliveries.ts';
import { FAILED, FAILURE, NAME, RUNNING } from '../../knowledge/executions/operated-executions.ts';
import { STACK, STATE_MACHINE, startExecutions } from '../../knowledge/executions/step-functions.ts';
import { writeTemporary } from '../support.ts';

function explain(...args: string[]) {
  return runCommand(['explain', ...STACK, ...args]);
}

describe('explain', () => {
  it('shows how long each window took, and a link to all of its states', async () => {
    await startExecutions([RUNNING, FAILED]);
    const { status, stdout } = await explain(NAME, '--json');
    expect(status).toBe(0);
    const { windows, console, ...summary } = JSON.parse(stdout);
    expect(summary).toMatchObject({ execution: NAME, outcome: 'running', export: 'daily-campaigns' });
    expect(windows).toMatchObject([
      {
        outcome: 'delivered',
        seconds: 660,
        bytes: 1_234,
        rows: 45,
        key: 'k/report.json',
      },
      { outcome: 'running', seconds: expect.any(Number) },
    ]);
    const arn = `${STATE_MACHINE.replace(':stateMachine:', ':execution:')}:${NAME}`;
    const page =
      'https://eu-west-1.console.aws.amazon.com/states/home?region=eu-west-1#/v2/executions/details/';
    expect(console).toBe(page + arn);
    expect((await explain(NAME)).stdout.split('\n').at(-2)).toBe(`Each state: ${page + arn}`);
  });

  it.each([
    ['RUNNING', 'waiting'],
    ['FAILED', 'not_begun'],
    ['ABORTED', 'not_begun'],
    ['PENDING_REDRIVE', 'waiting'],
  ] as const)('says of an execution that is %s that such a window is %s', async (status, outcome) => {
    const ended = status === 'RUNNING' ? {} : { ended: 30 };
    await startExecutions([{ ...RUNNING, status, ...ended, windows: RUNNING.windows?.slice(0, 1) ?? [] }]);
    const { windows } = JSON.parse((await explain(NAME, '--json')).stdout);
    expect(windows[1]).toHaveProperty('outcome', outcome);
    expect((await explain(NAME)).stdout).toMatch(`2026-11-15 to 2026-11-30  ${outcome.replace('_', ' ')}`);
  });

  it('says of an execution that was stopped how to continue it', async () => {
    await startExecutions([{ ...RUNNING, status: 'ABORTED', ended: 30 }]);
    const { stdout } = await explain(NAME);
    expect(stdout).toContain(
      `\n\nStopped ${NAME}. Windows that were delivered stay.\nTo export the rest: npm run export -- resume ${NAME} --stack exports\n`,
    );
    expect(stdout).not.toMatch(/failed|ABORTED/);
  });

  it('says it in words', async () => {
    await startExecutions([RUNNING]);
    const { stdout } = await explain(NAME);
    expect(stdout).toMatch(/^2026-10-01 to 2026-11-14 {2}delivered, 45 rows, 1.23 kB, took 11m$/m);
    expect(stdout).toMatch(/^2026-11-15 to 2026-11-30 {2}running, so far .*\n\nEach state: /m);
  });

  it('shows the failure report of a failed execution, and the command that exports the rest', async () => {
    await startExecutions([FAILED]);
    const { status, stdout } = await explain('daily-1');
    expect(status).toBe(0);
    expect(stdout).toContain('No report became READY.');
    expect(stdout).toContain('1 of 2 windows failed');
    expect(stdout).toContain('report_id: r-1, r-2');
    expect(stdout).toContain('request_id: req-1');
    expect(stdout).toContain('Then: npm run export -- resume daily-1');
    const { failure } = JSON.parse((await explain('daily-1', '--json')).stdout);
    expect(failure).toEqual(FAILURE);
  });

  it('explains the execution that began last, unless another is named', async () => {
    await startExecutions([FAILED, { ...FAILED, name: 'daily-0', begun: -2_880 }]);
    expect((await explain()).stdout).toMatch(/^failed {2}daily-1\n/);
  });

  it('exits 2 if nothing has run', async () => {
    await startExecutions([]);
    expect(await explain()).toMatchObject({ status: 2, stderr: 'error: nothing has run yet\n' });
  });
});

describe('explain --local', () => {
  it('says of an unfinished run what to do if it was killed', async () => {
    const events = [{ type: 'ExecutionStarted', time: '2026-11-21T06:00:00.000Z', input: {} }];
    const history = { next: 'npm start -- --only-missing', executions: [{ execution: 'killed', events }] };
    const { directory } = await writeTemporary('history.json', JSON.stringify(history));
    const { stdout } = await runCommand(['explain', '--local', '--out', directory]);
    expect(stdout).toMatch(
      /^unfinished {2}killed\n.*, so far 1s\n\nIt is still running, or .*:\n {2}npm start -- --only-missing\n/s,
    );
    const { status } = await runCommand(['status', '--local', '--out', directory]);
    expect(status).toBe(0);
  });

  it('has the command of a run that was killed before its first step', async () => {
    const out = temporaryDirectory();
    const history = createHistory(out);
    history.next = 'npm start -- --input daily.json --only-missing';
    history.begin('killed');
    await keepSaving(history)[Symbol.asyncDispose]();
    const { stdout } = await runCommand(['explain', '--local', '--out', out]);
    expect(stdout).toMatch(
      /^unfinished {2}killed\n\nIt is still running, .*:\n {2}npm start -- --input daily.json /s,
    );
    expect((await runCommand(['list', '--local', '--out', out])).stdout).not.toContain('ended');
  });

  it('advises what fits this machine, and status too', async () => {
    const { directory: out } = await writeTemporary('history.json', '');
    const write = async (path: string, content: unknown) => {
      await mkdir(dirname(join(out, path)), { recursive: true });
      await writeFile(join(out, path), JSON.stringify(content));
    };
    const detail = { ...FAILURE, error: 'LoginRequired', account: 'acme', export: 'daily' };
    const prefix = 'bucket/exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-02';
    await write('events.jsonl', {
      'detail-type': 'Report Export Failed',
      detail,
      time: '2026-11-20T07:30:00Z',
    });
    await write(`${prefix}/_failure.json`, detail);
    await plan(out, {
      name: 'daily',
      account: 'acme',
      start_date: '2026-10-01',
      end_date: '2026-10-02',
      metrics: ['spend'],
      advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    });
    await write('platform.json', { baseUrl: 'https://ads.example', credential: 'c.json' });
    for (const command of ['explain', 'status']) {
      const { stdout } = await runCommand([command, '--local', '--out', out]);
      expect(stdout).toContain(
        'What to do: Log in again (npm run export -- login --account acme --local ' +
          '--base-url https://ads.example --credential c.json), then run the export again.\n',
      );
    }
    const { stdout } = await runCommand(['explain', '--local', '--out', out]);
    expect(stdout).toContain(`\nThen: npm run export -- missing daily --account acme --local --out ${out}\n`);
  });

  it('exits 2 if the folder does not have the execution', async () => {
    const { directory } = await writeTemporary('history.json', JSON.stringify({ executions: [] }));
    const { status, stderr } = await runCommand(['explain', 'nobody', '--local', '--out', directory]);
    expect([status, stderr]).toEqual([2, `error: --out ${directory} has no execution nobody\n`]);
  });
});
