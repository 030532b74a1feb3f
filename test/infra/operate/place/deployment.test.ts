import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { startDeployedAccount } from '../cli/support.ts';
import { startCloudFormation, startExecutions } from '../executions/step-functions.ts';

describe('a command finds the stack', () => {
  it('by CloudFormation, in the AWS account and the Region of the environment, or in another Region', async () => {
    await startExecutions([]);
    const calls = await startCloudFormation('ad-report-export');
    const stop = async (...more: string[]) => (await runCommand(['stop', 'daily-1', ...more])).status;
    const byEnvironment = await stop();
    const byOption = await stop('--region', 'us-west-2');
    expect({ byEnvironment, byOption }).toEqual({ byEnvironment: 2, byOption: 2 });
    expect(calls).toEqual(['ad-report-export us-east-2', 'ad-report-export us-west-2']);
  });

  it('of another name by a resource of the export', async () => {
    await startExecutions([]);
    const calls = await startCloudFormation('Platform', undefined, 'ad-report-export');
    await runCommand(['stop', 'daily-1']);
    expect(calls).toEqual(['ad-report-export us-east-2', 'Platform us-east-2']);
  });

  it('or says that it is a stack of something else', async () => {
    await startExecutions([]);
    await startCloudFormation('ad-report-export', {});
    const { status, stderr } = await runCommand(['status']);
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^error: the stack ad-report-export has no AdReportExportStateMachineArn: .*\. Give another --stack\n$/,
    );
  });

  it('or says which one there is not, before it writes anything', async () => {
    const { readStored } = await startDeployedAccount('{}');
    await startCloudFormation('ads');
    const { status, stderr } = await runCommand(
      ['secret', 'set', 'acme'],
      '{"client_id":"a","client_secret":"b"}',
    );
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        "error: there is no stack ad-report-export in us-east-2: run 'npx cdk deploy', or give --stack and --region\n",
    });
    expect(await readStored()).toEqual({});
  });
});

describe('a command that could work on the runs of this machine', () => {
  const LOCAL = 'The folder out has runs';
  const openRuns = () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'out/bucket/exports/account=sandbox/export=example'), { recursive: true });
    return cwd;
  };

  it.each([
    ['status'],
    ['query', 'SELECT 1'],
    ['missing', 'daily-campaigns'],
    ['page', '--to', 'page.html'],
  ])('guesses a forgotten --local if there is no Region: %s', async (...args) => {
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    const { status, stderr } = await runCommand(args, '', openRuns());
    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining(LOCAL) });
    expect((await runCommand(args, '', temporaryDirectory())).stderr).not.toContain('--local');
  });

  it('guesses it if only runs of this machine have the export', async () => {
    const { stderr } = await runCommand(['missing', 'example'], '', openRuns());
    expect(stderr).toContain(`${LOCAL} of it: to work on them, add --local\n`);
    expect((await runCommand(['missing', 'another'], '', openRuns())).stderr).not.toContain('--local');
  });
});

it.each([
  ['run', 'daily-campaigns'],
  ['resume', 'daily-1'],
  ['stop', 'daily-1'],
  ['rebuild', 'daily-campaigns'],
  ['secret', 'set', 'acme'],
  ['login', '--account', 'acme'],
])('%s says first in which AWS account and Region it works', async (...args) => {
  await startExecutions([], { end: { status: 'ABORTED' }, polls: 0 });
  await startDeployedAccount('{"client_id":"a","client_secret":"b"}');
  const { stderr } = await runCommand(args, '{"client_id":"a","client_secret":"b"}');
  expect(stderr.split('\n')[0]).toBe(
    'Working on the stack ad-report-export in eu-west-1 of AWS account 123456789012.',
  );
});
