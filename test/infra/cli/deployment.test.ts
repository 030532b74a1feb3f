import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { writeOutputs } from './executions/operated-executions.ts';
import { STATE_MACHINE, startCloudFormation, startExecutions } from './executions/step-functions.ts';

describe('a command finds the stack', () => {
  it('in the file of the last deployment, or by CloudFormation in another Region', async () => {
    await startExecutions([]);
    const calls = await startCloudFormation('ad-report-export');
    const cwd = await writeOutputs({ stateMachine: STATE_MACHINE });
    const list = async (...more: string[]) => (await runCommand(['list', ...more], '', cwd)).status;
    expect([await list(), await list('--region', 'eu-west-1')]).toEqual([0, 0]);
    expect(calls).toEqual([]);
    expect(await list('--region', 'us-west-2')).toBe(0);
    expect(calls).toEqual(['ad-report-export us-west-2']);
  });

  it('or says which one there is not', async () => {
    await startExecutions([]);
    await startCloudFormation('ads');
    expect(await runCommand(['list'], '', temporaryDirectory())).toEqual({
      status: 2,
      stdout: '',
      stderr:
        "error: there is no stack ad-report-export in us-east-2: run 'npm run deploy', or give --stack and --region. For the runs of this machine, use --local\n",
    });
  });
});
