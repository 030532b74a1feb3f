import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import project from '../../../../package.json' with { type: 'json' };
import { runCommand, startCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

it('a command line that cannot be parsed exits 2 with the fault, also as a document', async () => {
  const { status, stdout, stderr } = await runCommand(['run', '--bogus', '--json']);
  expect({ status, stderr }).toEqual({ status: 2, stderr: "error: unknown option '--bogus'\n" });
  expect(JSON.parse(stdout)).toEqual({
    outcome: 'failed',
    error: 'InvalidInput',
    faults: ["unknown option '--bogus'"],
  });
});

it('--help lists every command and exits 0', async () => {
  const { status, stdout } = await runCommand(['--help']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/run .*resume .*query .*login .*doctor .*sandbox /s);
});

it('--version prints the version and exits 0', async () => {
  expect(await runCommand(['--version'])).toEqual({ status: 0, stdout: `${project.version}\n`, stderr: '' });
});

it.each([
  ['stop --help', 'stop [options] <execution>'],
  ['help stop', 'stop [options] <execution>'],
])('%s shows the options of the command', async (line, usage) => {
  const { status, stdout } = await runCommand(line.split(' '));
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(usage) });
  expect(stdout).toContain('--stack <name>');
});

it('help with an unknown command exits 2 and names the command that was meant', async () => {
  expect(await runCommand(['help', 'runn'])).toMatchObject({
    status: 2,
    stderr: "error: unknown command 'runn'\n(Did you mean run?)\n",
  });
});

it.each(['--help', '--version'])('%s loads neither zod nor the AWS SDK', async (flag) => {
  const hook =
    'import { registerHooks } from "node:module";' +
    'registerHooks({ load: (url, context, next) => { console.error(url); return next(url, context); } });';
  vi.stubEnv('NODE_OPTIONS', `--import=data:text/javascript,${encodeURIComponent(hook)}`);
  const { stderr } = await startCommand([flag]).ended;
  expect(stderr).toMatch('/commander/');
  expect(stderr).not.toMatch(/zod|aws-sdk/);
});

describe('a folder in which no run has begun is refused with the same sentence by', () => {
  it.each([
    ['status'],
    ['status', 'daily-campaigns'],
    ['missing', 'daily-campaigns'],
    ['check', 'daily-campaigns'],
    ['close', '2026-10'],
    ['close', '2026-10', 'daily-campaigns'],
    ['rebuild', 'daily-campaigns'],
    ['page'],
    ['contract'],
    ['dbt', join('no-such-parent', 'ads')],
    ['query', 'SELECT 1'],
    ['query', 'SHOW TABLES'],
    ['query', '--saved'],
    ['query', '--saved', 'days'],
  ])('%s %s %s', async (...args) => {
    for (const out of [temporaryDirectory(), 'no-such-folder'])
      expect(await runCommand([...args, '--local', '--out', out])).toMatchObject({
        status: 2,
        stdout: '',
        stderr: `error: no run has begun in --out ${out}: repeat its command, or name another folder\n`,
      });
  });
});
