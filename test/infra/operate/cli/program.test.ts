import { expect, it, vi } from 'vitest';
import project from '../../../../package.json' with { type: 'json' };
import { runCommand, startCommand } from '../../../support/cli.ts';

it('a command line that cannot be parsed exits 2 with the fault, also as a document', async () => {
  const { status, stdout, stderr } = await runCommand(['run', '--bogus', '--json']);
  expect([status, stderr]).toEqual([2, "error: unknown option '--bogus'\n"]);
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
  expect([status, stdout]).toEqual([0, expect.stringContaining(usage)]);
  expect(stdout).toContain('--stack <name>');
});

it('help with an unknown command exits 2 and names the command that was meant', async () => {
  const { status, stderr } = await runCommand(['help', 'runn']);
  expect([status, stderr]).toEqual([2, "error: unknown command 'runn'\n(Did you mean run?)\n"]);
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
