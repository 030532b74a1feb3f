import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_KEY } from '../../../infra/config.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CDK_JSON = readFileSync(join(ROOT, 'cdk.json'), 'utf8');

/** Another checkout, whose cdk.json may be spoilt. */
const checkout = temporaryDirectory();

beforeAll(() => {
  for (const folder of ['infra', 'functions']) {
    cpSync(join(ROOT, folder), join(checkout, folder), { recursive: true });
  }
  cpSync(join(ROOT, 'package.json'), join(checkout, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
});

function command(cdkJson: string, args: readonly string[]) {
  writeFileSync(join(checkout, 'cdk.json'), cdkJson);
  return spawnSync(process.execPath, ['infra/cli/main.ts', ...args], { cwd: checkout, encoding: 'utf8' });
}

function spoilt(): string {
  const { context } = JSON.parse(CDK_JSON);
  return JSON.stringify({ context: { [CONFIG_KEY]: { ...context[CONFIG_KEY], revision: 'x', stack: '1' } } });
}

describe('a config that cannot be deployed', () => {
  it.each([
    [['run', 'daily-campaigns']],
    [['run', '--local', '--speed', '1000']],
    [['doctor']],
    [['login', '--account', 'acme']],
  ])('ends %j with every fault of it, exit status 2 and no stack trace', (args) => {
    const { status, stdout, stderr } = command(spoilt(), args);
    expect(stderr.trim().split('\n')).toEqual([
      'error: cdk.json: stack: must be 1 to 63 letters, digits and -, the first a letter',
      'error: cdk.json: revision: must be a date that exists, written YYYY-MM-DD',
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  it('is named beside what else is wrong, and as JSON to whoever reads that', () => {
    const { status, stdout } = command(spoilt(), ['run', '--local', '--json', '--input', '/no/such/file']);
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

  it('may be no JSON at all', () => {
    const { status, stderr } = command('{"app":', ['run', 'daily-campaigns']);
    expect(stderr).toMatch(/^error: cdk\.json: it is not JSON: .+\n$/);
    expect(status).toBe(2);
  });
});
