import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { WindowObject } from '../../../functions/workflow/state-parts.ts';
import { ExportResult, FailureReport } from '../../../functions/workflow/states.ts';
import { runCommand, startCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';
import { expectFailureReport } from './failed-run.ts';
import { STATE_MACHINE, startStepFunctions } from './step-functions.ts';

const REQUEST = {
  ...{ name: 'daily', account: 'acme', start_date: '2026-10-01', end_date: '2026-10-08' },
  ...{ advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'], metrics: ['spend'] },
};

/** What every command prints that fails for another reason than its export. */
const COMMAND_FAILED = z.strictObject({
  outcome: z.literal('failed'),
  error: z.literal('CommandFailed'),
  happened: z.string(),
  todo: z.string(),
});

/** Without a table, because CurateReport would write 111 days. */
const WINDOWS = { start_date: '2026-07-01', end_date: '2026-10-20', max_parallel: 1, table: false };

/** What `run --json` and `resume --json` print, by exit status. No field but these is allowed. */
const DOCUMENTS = {
  0: z.strictObject({ outcome: z.literal('delivered'), ...ExportResult.shape }),
  1: z.strictObject({ outcome: z.literal('failed'), ...FailureReport.shape }),
  2: z.strictObject({
    outcome: z.literal('failed'),
    error: z.literal('InvalidInput'),
    faults: z.array(z.string()),
  }),
  130: z.strictObject({
    outcome: z.literal('interrupted'),
    version: z.literal('1'),
    execution: z.string(),
    continues: z.boolean(),
    delivered_windows: z.optional(z.array(WindowObject)),
    next: z.string(),
  }),
} as const;

function read<S extends keyof typeof DOCUMENTS>(status: S, stdout: string): z.infer<(typeof DOCUMENTS)[S]> {
  return z.parse(DOCUMENTS[status], JSON.parse(stdout)) as never;
}

/** The only bucket of a folder. */
async function bucketOf(out: string): Promise<string> {
  const [bucket = ''] = (await readdir(out)).filter((name) => name.includes('bucket'));
  return join(out, bucket);
}

/** The arguments of a command that npm runs; none of them has a space. */
function argumentsOf(command: string): string[] {
  const [npm, start, dashes, ...others] = command.split(' ');
  expect([npm, start, dashes]).toEqual(['npm', 'start', '--']);
  return ['run', '--local', ...others];
}

describe('the document of --json', () => {
  it.each([
    ...Object.entries(DOCUMENTS),
    ['1 of a command', COMMAND_FAILED] as const,
  ])('of exit status %s is in the reference', (_, { shape }) => {
    const reference = readFileSync(new URL('../../../functions/README.md', import.meta.url), 'utf8');
    const words = new Set(reference.match(/\w+/g));
    expect(Object.keys(shape).filter((field) => !words.has(field))).toEqual([]);
  });

  it('P6: of a failure names what was delivered; the command after it exports the rest, and names what was there', async () => {
    const { args, out, sandbox } = await startCommandRun(WINDOWS, { faults: ['create nth=2 status=403'] });
    const failed = await runCommand(args);
    expect(failed.status).toBe(1);
    await expectFailureReport(failed, { out, sandbox });
    const { delivered_windows: delivered = [], bucket = '', key = '' } = read(1, failed.stdout);
    expect(delivered).toHaveLength(2);
    for (const each of [key, ...delivered.map((window) => window.key)])
      expect(existsSync(join(out, bucket, each))).toBe(true);

    const next = await runCommand([...args, '--only-missing']);
    expect(next.status).toBe(0);
    const { already_delivered_windows: earlier, already_delivered, windows } = read(0, next.stdout);
    expect([windows.length, already_delivered, earlier]).toEqual([1, 2, delivered]);
  });

  it('of a run that Ctrl-C ends names what was delivered, and the command that exports the rest', async () => {
    const { args, out } = await startCommandRun(WINDOWS, { report: { secondsToReady: 200 } });
    const { child, ended } = startCommand(args);
    const delivered = async () => {
      const keys = await readdir(await bucketOf(out), { recursive: true }).catch(() => []);
      return keys.filter((key) => /^exports\/.*\/_manifest\.json$/.test(key)).length;
    };
    await expect.poll(delivered, { timeout: 60_000 }).toBe(1);

    const second = await runCommand(args);
    expect(second.status).toBe(2);
    expect(read(2, second.stdout).faults).toEqual([
      expect.stringContaining(`--out ${out} is used by another run (process ${child.pid})`),
    ]);

    child.kill('SIGINT');
    const { status, stdout } = await ended;
    expect(status).toBe(130);
    const interrupted = read(130, stdout);
    expect(interrupted).toMatchObject({ continues: false, delivered_windows: [{}] });
    const history = JSON.parse(await readFile(join(out, 'history.json'), 'utf8'));
    expect(history.executions).toMatchObject([{ execution: interrupted.execution }]);
    const rest = await runCommand(argumentsOf(interrupted.next));
    const { already_delivered_windows } = read(0, rest.stdout);
    expect(already_delivered_windows).toEqual(interrupted.delivered_windows);
  });

  it('of a deployed run that Ctrl-C ends says that the export continues, and how to see it', async () => {
    const { started } = await startStepFunctions({}, { polls: Number.POSITIVE_INFINITY });
    const args = ['run', '--input', '-', '--state-machine', STATE_MACHINE, '--json'];
    const { child, ended } = startCommand(args, JSON.stringify(REQUEST));
    const shown = Promise.withResolvers<void>();
    // By then the command listens to the signal.
    child.stderr.on('data', (text) => /windows done/.test(`${text}`) && shown.resolve());
    await shown.promise;
    child.kill('SIGINT');
    const { status, stdout } = await ended;
    expect(status).toBe(130);
    const [{ name: execution = '' } = {}] = started;
    expect(read(130, stdout)).toEqual({
      ...{ outcome: 'interrupted', version: '1', execution, continues: true },
      next: `npm run export -- explain ${execution}`,
    });
  });

  it.each([
    ['run', ['--input', '-'], 'StartExecution'],
    ['resume', ['daily-1'], 'DescribeExecution'],
    ['list', [], 'ListExecutions'],
    ['explain', ['daily-1'], 'DescribeExecution'],
    ['stop', ['daily-1'], 'DescribeExecution'],
  ])('of %s with AWS credentials that are refused names the permission', async (command, args, denied) => {
    await startStepFunctions({}, { denied });
    const all = [command, ...args, '--state-machine', STATE_MACHINE, '--json'];
    const { status, stdout } = await runCommand(all, JSON.stringify(REQUEST));
    expect(status).toBe(1);
    const { happened, todo } = z.parse(COMMAND_FAILED, JSON.parse(stdout));
    expect(happened).toContain('(AccessDeniedException)');
    expect(todo).toContain(`states:${denied}`);
  });

  it('of bad usage names the faults', async () => {
    const { status, stdout } = await runCommand(['run', '--local', '--json', '--speed', '0']);
    expect(status).toBe(2);
    expect(read(2, stdout).faults).toHaveLength(1);
  });
});
