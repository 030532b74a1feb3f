import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { MAIN, runCommand, startCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';
import { callsTo } from '../../support/journal.ts';
import { expectNoSecretIn } from '../../support/secrecy.ts';
import { expectFailureReport, objectsIn, readFiles } from './failed-run.ts';

const ONE_WINDOW = { start_date: '2026-10-01', end_date: '2026-10-08' };
const THREE_WINDOWS = { start_date: '2026-10-01', end_date: '2027-01-20', max_parallel: 1 };

describe('a failed run', () => {
  it.each([
    ['the token is refused', 'token status=401 times=always'],
    ['storage sends a page', 'storage body="<html>sbx_sig_x</html>" times=always'],
  ])('P6: has one failure report and no secret anywhere if %s', async (_, fault) => {
    const { args, out, sandbox } = await startCommandRun(ONE_WINDOW, { faults: [fault] });
    const ended = await runCommand(args);
    expect(ended.status).toBe(1);
    await expectFailureReport(ended, { out, sandbox });
  });

  it('has a timeline, the request ids and a link to the runbook', async () => {
    const faults = ['report nth=2 status=401', 'report nth=4 status=422'];
    const { sandbox, args } = await startCommandRun(ONE_WINDOW, { faults, report: { secondsToReady: 1000 } });
    const report = JSON.parse((await runCommand(args)).stdout);
    const [refused, failed] = callsTo(sandbox, 'report').filter(({ status }) => (status ?? 0) >= 400);
    expect(report).toMatchObject({
      runbook: 'infra/RUNBOOK.md#requestrefused',
      request_ids: [failed?.requestId, refused?.requestId],
    });
    const { timeline } = report as { timeline: Record<string, unknown>[] };
    expect(timeline.map(({ step, outcome, request_id }) => [step, outcome, request_id])).toEqual([
      ['GetToken', 'planned', undefined],
      ['CreateReport', 'pending', undefined],
      ['CheckReport', 'pending', undefined],
      ['CheckReport', 'TokenRefused', refused?.requestId],
      ['GetToken', 'pending', undefined],
      ['CheckReport', 'pending', undefined],
      ['CheckReport', 'RequestRefused', failed?.requestId],
    ]);
  });
});

describe('a killed run', () => {
  it('P5: leaves its history, and --only-missing exports the rest', async () => {
    const { sandbox, args, out } = await startCommandRun(THREE_WINDOWS, { report: { secondsToReady: 200 } });
    const { child, ended } = startCommand(args);
    await expect.poll(() => callsTo(sandbox, 'create').length, { timeout: 60_000 }).toBe(2);
    await expect.poll(() => objectsIn(out, 'manifest.json').catch(() => [])).toHaveLength(1);
    await expect
      .poll(() => readFile(join(out, 'history.json'), 'utf8').catch(() => ''), { timeout: 10_000 })
      .toContain('PublishWindow');
    child.kill('SIGKILL');
    await ended;

    const { status, stdout } = await runCommand([...args, '--only-missing']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'delivered',
      already_delivered: 1,
      windows: [{}, {}],
    });
    expect(callsTo(sandbox, 'create')).toHaveLength(4);
    expect(await objectsIn(out, '_manifest.json')).toHaveLength(3);
    const reports = await objectsIn(out, '/report.json');
    const bytes = await Promise.all(reports.map(async (path) => (await readFile(join(out, path))).length));
    const created = [0, 2, 3].map((at) => sandbox.expected(sandbox.reports()[at]?.id ?? '').length);
    expect(bytes).toEqual(created);
  });
});

describe('a delivered run', () => {
  it('P6: prints a table, and no secret is in its output or files', async () => {
    const { args, out, sandbox } = await startCommandRun(ONE_WINDOW);
    const { status, stdout, stderr } = await runCommand(args.filter((arg) => arg !== '--json'));
    expect(status).toBe(0);
    expect(stdout).toMatch(/^window +rows +bytes +object$/m);
    expectNoSecretIn([stdout, stderr, await readFiles(out)].join('\n'), { sandbox });
  });

  it('continues after its output is closed', async () => {
    const { args, out } = await startCommandRun(ONE_WINDOW);
    const { child, ended } = startCommand(args);
    ended.catch(() => {}); // Reading fails after the streams are destroyed.
    const exited = once(child, 'exit');
    child.stdout.destroy();
    child.stderr.destroy();
    expect(await exited).toEqual([0, null]);
    expect(await objectsIn(out, '_manifest.json')).toHaveLength(1);
  });

  it.runIf(existsSync('/dev/full'))('exits 1 if its output cannot be written', async () => {
    const { args, out } = await startCommandRun(ONE_WINDOW);
    const command = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, MAIN, ...args];
    const child = spawn('sh', command, { stdio: 'pipe' });
    const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(status).toBe(1);
    expect(stderr.match(/error: the output cannot be written \(ENOSPC\)/g)).toHaveLength(1);
    expect(stderr).not.toContain('    at ');
    expect(await objectsIn(out, '_manifest.json')).toHaveLength(1);
  });

  it('warns if its history cannot be written', async () => {
    const { args, out } = await startCommandRun(ONE_WINDOW);
    await mkdir(join(out, 'history.json'), { recursive: true });
    const { status, stdout, stderr } = await runCommand(args);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'delivered' });
    expect(stderr).toContain('warning: history.json could not be written (EISDIR)');
    expect((await readdir(out)).filter((name) => name.startsWith('.history'))).toEqual([]);
  });
});
