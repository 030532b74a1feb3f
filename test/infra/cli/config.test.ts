import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_KEY } from '../../../infra/config/config.ts';
import { runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CDK_JSON = readFileSync(join(ROOT, 'cdk.json'), 'utf8');

/** A copy of the project, whose cdk.json a test may change. */
let checkout: string;
let runCommandLine: () => Promise<void>;

beforeAll(async () => {
  using folders = new DisposableStack();
  checkout = temporaryDirectory((remove) => folders.defer(remove));
  for (const folder of ['infra', 'functions'])
    cpSync(join(ROOT, folder), join(checkout, folder), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(checkout, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  ({ runCommandLine } = await import(pathToFileURL(join(checkout, 'infra/cli/program.ts')).href));
  const ended = folders.move();
  return () => ended.dispose();
});

function runIn(cdkJson: string, args: readonly string[]) {
  writeFileSync(join(checkout, 'cdk.json'), cdkJson);
  return runCommand(args, '', checkout, runCommandLine);
}

function faultyConfig(): string {
  const { context } = JSON.parse(CDK_JSON);
  return JSON.stringify({ context: { [CONFIG_KEY]: { ...context[CONFIG_KEY], revision: 'x', stack: '1' } } });
}

describe('a faulty cdk.json', () => {
  it.each([
    [['run', '--local', '--speed', '1000']],
    [['doctor']],
  ])('makes %j exit 2 with every fault and no stack trace', async (args) => {
    const { status, stdout, stderr } = await runIn(faultyConfig(), args);
    expect(stderr.trim().split('\n')).toEqual([
      'error: cdk.json: stack: must be 1 to 63 letters, digits and -, the first a letter',
      'error: cdk.json: revision: must be a date that exists, written YYYY-MM-DD',
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  it('is reported together with other faults, and as JSON with --json', async () => {
    const { status, stdout } = await runIn(faultyConfig(), [
      'run',
      '--local',
      '--json',
      '--input',
      '/no/such/file',
    ]);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'failed',
      error: 'InvalidInput',
      faults: [
        expect.stringContaining('cdk.json: stack'),
        expect.stringContaining('cdk.json: revision'),
        '--input /no/such/file cannot be read (ENOENT)',
      ],
    });
  });

  it('that is not JSON is reported', async () => {
    const { status, stderr } = await runIn('{"app":', ['run', 'daily-campaigns']);
    expect(stderr).toMatch(/^error: cdk\.json: it is not JSON: .+\n$/);
    expect(status).toBe(2);
  });
});

describe('an export of two accounts', () => {
  const { context } = JSON.parse(CDK_JSON);
  const [{ schedule, ...own }] = context[CONFIG_KEY].exports;
  const exports = ['globex', 'acme'].map((account) => ({ ...own, account }));
  const cdkJson = JSON.stringify({ context: { [CONFIG_KEY]: { ...context[CONFIG_KEY], exports } } });
  const planIn = (args: readonly string[]) => runIn(cdkJson, ['plan', ...args, '--local']);

  it.each([
    [['daily-campaigns'], 'acme and globex have an export daily-campaigns; choose one with --account'],
    [['daily-campaigns', '--account', 'x'], 'the config has no export x/daily-campaigns (it has globex/'],
    [['--account', 'acme', '--input', 'f'], "option '--account <name>' cannot be used with option '--input"],
  ])('is not found with %j', async (args, fault) => {
    const { status, stderr } = await planIn(args);
    expect(stderr).toContain(`error: ${fault}`);
    expect(status).toBe(2);
  });

  it('is the one of --account', async () => {
    const { status, stdout } = await planIn(['daily-campaigns', '--account', 'acme']);
    expect(stdout).toMatch(/^acme\/daily-campaigns: /);
    expect(status).toBe(0);
  });
});
