import { describe, expect, it } from 'vitest';
import project from '../../../package.json' with { type: 'json' };
import { runCommand } from '../../support/cli.ts';

describe('a command line that cannot be parsed', () => {
  const unknownOption = ['run', '--bogus'];

  it('exits 2 with the fault on stderr', async () => {
    expect(await runCommand(unknownOption)).toEqual({
      status: 2,
      stdout: '',
      stderr: "error: unknown option '--bogus'\n",
    });
  });

  it('is one document with --json', async () => {
    const { status, stdout } = await runCommand([...unknownOption, '--json']);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'failed',
      error: 'InvalidInput',
      faults: ["unknown option '--bogus'"],
    });
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
