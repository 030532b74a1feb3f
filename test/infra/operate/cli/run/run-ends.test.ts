import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Interrupted } from '../../../../../infra/operate/executions/outcome.ts';
import { endOf, MAIN, runCommand, startCommand } from '../../../../support/cli.ts';
import { startCommandRun } from '../../../../support/command-run.ts';
import { expectNoSecretIn } from '../../../../support/secrecy.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { STACK, startExecutions } from '../../executions/step-functions.ts';

const ONE_WINDOW = { start_date: '2026-10-01', end_date: '2026-10-08', table: false };
const TWO_WINDOWS = { start_date: '2026-09-04', end_date: '2026-10-20', max_parallel: 1, table: false };

/** The second report is held back, so the run cannot end before it is interrupted. */
async function startHeldRun() {
  let ready = 1;
  const report = { secondsToReady: () => (ready-- > 0 ? 0 : 86_400) };
  const run = await startCommandRun(TWO_WINDOWS, { report });
  const release = () => {
    ready = Number.POSITIVE_INFINITY;
  };
  return { ...run, release };
}

async function waitForFirstWindow(out: string): Promise<void> {
  const manifests = () => objectsIn(out, '_manifest.json').catch(() => []);
  await expect.poll(manifests, { timeout: 60_000 }).toHaveLength(1);
}

const PREFIX = 'exports/account=sandbox/export=daily';

/** The export's objects whose names end with `ending`, sorted by key. */
async function objectsIn(out: string, ending: string): Promise<string[]> {
  const entries = await readdir(out, { recursive: true });
  return entries.filter((path) => path.includes(`/${PREFIX}/`) && path.endsWith(ending)).sort();
}

/** Every file except the reports. */
async function readFiles(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

/** Runs a command that was printed, at the speed of the other runs. */
async function paste(command: string): Promise<object> {
  const { status, stdout, stderr } = await runCommand([
    ...command.trim().split(' ').slice(4),
    ...['--speed', '100', '--json'],
  ]);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return JSON.parse(stdout);
}

describe('a failed run', () => {
  it('P5: prints the command that finishes it, and only what failed is exported again', async () => {
    const { args, out, sandbox } = await startCommandRun(TWO_WINDOWS, {
      faults: ['create nth=2 status=422'],
    });
    const { status, stderr } = await runCommand(args.filter((arg) => arg !== '--json'));
    expect(status).toBe(1);
    const [, next = ''] = /^Then: (.*)$/m.exec(stderr) ?? [];
    expect(next).toMatch(/^npm run export -- resume daily-\S+ --local --out \S+$/);

    expect(await paste(next)).toMatchObject({ outcome: 'delivered', already_delivered: 1, windows: [{}] });
    expect(sandbox.reports()).toHaveLength(2);
    expect(await objectsIn(out, '_manifest.json')).toHaveLength(2);
    const again = await runCommand([...next.split(' ').slice(4), '--json']);
    expect(again).toMatchObject({ status: 2, stdout: expect.stringContaining('did not finish') });
  });

  it('prints its command again if it ended before PlanExport wrote the run', async () => {
    const { args, out } = await startCommandRun(ONE_WINDOW);
    // A file in the place of the folder of runs.
    const folder = join(out, 'ad-report-export-exportsbucket', PREFIX);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '_runs'), '');
    const words = args.filter((arg) => arg !== '--json');
    const { status, stderr } = await runCommand(words);
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('/_runs/') });
    const [, next = ''] = /^Then: (.*)$/m.exec(stderr) ?? [];
    expect(next).toBe(`npm run export -- ${words.join(' ')}`);
    await rm(join(folder, '_runs'));
    expect(await paste(next)).toMatchObject({ outcome: 'delivered', windows: [{}] });
  });

  it('P6: has one failure report, and no secret anywhere', async () => {
    const faults = ['report nth=2 status=401', 'storage body="<html>sbx_sig_x</html>" times=always'];
    const { args, out, sandbox } = await startCommandRun(ONE_WINDOW, { faults });
    const { status, stdout, stderr } = await runCommand(args);
    expect(status).toBe(1);
    expectNoSecretIn([stdout, stderr, await readFiles(out)].join('\n'), { sandbox });
    expect(await readFile(join(out, 'index.html'), 'utf8')).toContain('DownloadRefused');
    // The printed document is also the event, the cause and an object.
    const { outcome, ...report } = JSON.parse(stdout);
    expect(outcome).toBe('failed');
    const read = async (path: string) => JSON.parse(await readFile(join(out, path), 'utf8'));
    expect((await read('events.jsonl')).detail).toEqual(report);
    const { error, cause } = (await read('history.json')).executions[0].result;
    expect({ error, cause: JSON.parse(cause) }).toEqual({ error: report.error, cause: report });
    expect(await read(join(report.bucket, report.key))).toEqual(report);
  });
});

it('ends with 0 if the table did not take the file, and with 3 with --strict', async () => {
  const days = { start_date: '2026-10-01', end_date: '2026-10-02' };
  const faults = ['storage body=[{"date":"2026-10-01","spend":"much"}] times=always'];
  const { args } = await startCommandRun(days, { faults });
  const { status, stdout } = await runCommand(args);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ table_problem: expect.stringContaining('"much"') });
  expect((await runCommand([...args, '--strict'])).status).toBe(3);
  expect((await runCommand([...args, '--strict', '--only-missing'])).status).toBe(0);
});

describe('an interrupted run', () => {
  it('P5: if it is killed, --only-missing exports the rest', async () => {
    const { args, out, release } = await startHeldRun();
    const { child, ended } = startCommand(args);
    await waitForFirstWindow(out);
    child.kill('SIGKILL');
    await ended;

    release();
    const { status, stdout } = await runCommand([...args, '--only-missing']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ already_delivered: 1, windows: [{}] });
    expect(await objectsIn(out, '/report.json')).toHaveLength(2);
  });

  it('lets no other run use its folder until it ends', async () => {
    const { args, out } = await startHeldRun();
    const { child, ended } = startCommand(args);
    await waitForFirstWindow(out);
    const { status, stdout } = await runCommand(args);
    expect(status).toBe(2);
    expect(JSON.parse(stdout).faults).toEqual([
      expect.stringContaining(`--out ${out} is used by another run`),
    ]);
    child.kill('SIGKILL');
    await ended;
  });

  it('prints after Ctrl-C the command that exports the rest', async () => {
    const { args, out, release } = await startHeldRun();
    const { child, ended } = startCommand(args);
    await waitForFirstWindow(out);
    child.kill('SIGINT');
    const { status, stdout } = await ended;
    const interrupted: Interrupted = JSON.parse(stdout);
    expect(status).toBe(130);
    expect(interrupted).toMatchObject({ outcome: 'interrupted', continues: false });
    const history = JSON.parse(await readFile(join(out, 'history.json'), 'utf8'));
    expect(history.executions).toMatchObject([{ execution: interrupted.execution }]);

    expect(interrupted.next).toBe(`npm run export -- resume ${interrupted.execution} --local --out ${out}`);
    const { stdout: shown } = await runCommand(['status', '--local', '--json', '--out', out]);
    const last = { execution: interrupted.execution, outcome: 'incomplete' };
    const execution = interrupted.execution;
    expect(JSON.parse(shown).exports).toMatchObject([{ last, days: { runs: [{ execution }] } }]);

    release();
    expect(await paste(interrupted.next)).toMatchObject({ already_delivered: 1, windows: [{}] });
    const after = await runCommand(['status', '--local', '--json', '--out', out]);
    expect(JSON.parse(after.stdout).exports).toMatchObject([{ days: { runs: [], ranges: [] } }]);
  });

  it('keeps no part of a file after Ctrl-C', async () => {
    const faults = [`storage stall_after=${24 * 1024 ** 2}`];
    const { args, out } = await startCommandRun(ONE_WINDOW, { report: { rows: 1e6 }, faults });
    const { child, ended } = startCommand(args);
    const parts = async () => {
      const paths = await readdir(out, { recursive: true }).catch(() => []);
      return paths.filter((path) => path.includes('.uploads'));
    };
    // The folders of all uploads and of this one, and two parts.
    await expect.poll(async () => (await parts()).length).toBeGreaterThan(3);
    child.kill('SIGINT');
    expect((await ended).status).toBe(130);
    expect(await parts()).toEqual([]);
  });

  it('continues in AWS after Ctrl-C, and says how to see it', async () => {
    const { started } = await startExecutions([], { polls: Number.POSITIVE_INFINITY });
    const args = ['run', 'daily-campaigns', ...STACK, '--json'];
    const { child, ended } = startCommand(args);
    const shown = Promise.withResolvers<void>();
    // By then the command listens to the signal.
    child.stderr.on('data', (piece) => /windows done/.test(`${piece}`) && shown.resolve());
    await shown.promise;
    child.kill('SIGINT');
    const { status, stdout } = await ended;
    expect(status).toBe(130);
    const [{ name: execution = '' } = {}] = started;
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'interrupted',
      version: '1',
      execution,
      continues: true,
      next: `npm run export -- explain ${execution} --stack exports`,
    });
  });
});

describe('a delivered run', () => {
  it('P6: prints a table, warns if history or page cannot be written, and shows no secret', async () => {
    const { args, out, sandbox } = await startCommandRun(ONE_WINDOW);
    for (const name of ['history.json', 'index.html']) await mkdir(join(out, name), { recursive: true });
    const { status, stdout, stderr } = await runCommand(args.filter((arg) => arg !== '--json'));
    expect(status).toBe(0);
    expect(stdout).toMatch(/^days +rows +bytes +object$/m);
    expect(stderr).toContain('warning: history.json could not be written (EISDIR)');
    const page = join(out, 'index.html');
    expect(stderr).toContain(`warning: the page was not written: ${page} cannot be written (EISDIR)`);
    expect((await readdir(out)).filter((name) => /^\.history|draft/.test(name))).toEqual([]);
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
});

it.runIf(existsSync('/dev/full'))('a command exits 1 if its output cannot be written', async () => {
  const plan = ['plan', 'daily-campaigns', '--local', '--out', temporaryDirectory()];
  const command = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, MAIN, ...plan];
  const child = spawn('sh', command, { stdio: 'pipe' });
  const { status, stderr } = await endOf(child);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'error: the output cannot be written (ENOSPC)\n',
  });
});
