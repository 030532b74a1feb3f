import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';
import { startDeployedAccount } from '../cli/support.ts';
import { startCloudFormation, startExecutions } from './executions/step-functions.ts';

describe('a command finds the stack', () => {
  it('by CloudFormation, in the AWS account and the Region of the environment, or in another Region', async () => {
    await startExecutions([]);
    const calls = await startCloudFormation('ad-report-export');
    const stop = async (...more: string[]) => (await runCommand(['stop', 'daily-1', ...more])).status;
    expect([await stop(), await stop('--region', 'us-west-2')]).toEqual([2, 2]);
    expect(calls).toEqual(['ad-report-export us-east-2', 'ad-report-export us-west-2']);
  });

  it('of another name by a resource of the export', async () => {
    await startExecutions([]);
    const calls = await startCloudFormation('Platform', undefined, 'ad-report-export');
    await runCommand(['stop', 'daily-1']);
    expect(calls).toEqual(['ad-report-export us-east-2', 'Platform us-east-2']);
  });

  it('or says which one there is not, before it writes anything', async () => {
    const { readStored } = await startDeployedAccount('{}');
    await startCloudFormation('ads');
    const { status, stderr } = await runCommand(
      ['secret', 'set', 'acme'],
      '{"client_id":"a","client_secret":"b"}',
    );
    expect([status, stderr]).toEqual([
      2,
      "error: there is no stack ad-report-export in us-east-2: run 'npx cdk deploy', or give --stack and --region. For the runs of this machine, use --local\n",
    ]);
    expect(await readStored()).toEqual({});
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
