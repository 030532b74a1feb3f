import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { FAILED, NAME, RUNNING } from '../../knowledge/executions/operated-executions.ts';
import { STACK, startExecutions } from '../../knowledge/executions/step-functions.ts';

const DELIVERED = { ...FAILED, name: 'daily-0', status: 'SUCCEEDED', begun: -2_880, ended: -2_879 } as const;
const OLD_BACKFILL = { ...RUNNING, name: 'backfill', begun: -9_000 };

async function list(...options: string[]) {
  const { status, stdout } = await runCommand(['list', '--json', ...STACK, ...options]);
  return { status, ...JSON.parse(stdout) };
}

describe('list', () => {
  it('shows the running executions, however old, and then the last ones, with what their inputs ask for', async () => {
    await startExecutions([RUNNING, FAILED, DELIVERED, OLD_BACKFILL]);
    const { status, outcome, executions } = await list();
    expect([status, outcome]).toEqual([0, 'ok']);
    expect(executions.map(({ execution }: { execution: string }) => execution)).toEqual([
      ...[NAME, 'backfill', 'daily-1', 'daily-0'],
    ]);
    expect(executions[3]).toMatchObject({ outcome: 'delivered', seconds: 60 });
    expect((await list('--limit', '1')).executions).toHaveLength(3);
  });

  it('prints a line for each execution, and nothing but that if nothing has run', async () => {
    await startExecutions([FAILED]);
    const { stdout } = await runCommand(['list', ...STACK]);
    expect(stdout.split('\n')).toEqual([
      'began (UTC)       outcome              took    export                days                      execution',
      '2026-11-20 06:00  failed: ReportStuck  1h 30m  acme/daily-campaigns  2026-10-01 to 2026-11-30  daily-1',
      '',
    ]);
    await startExecutions([]);
    expect((await runCommand(['list', ...STACK])).stdout).toBe('Nothing has run yet.\n');
  });

  it.each([
    ['a faulty request', { name: 'daily', account: 'acme' }, { account: 'acme', export: 'daily' }],
    ['something else', [7], {}],
  ])('shows an execution of %s', async (_, input, fields) => {
    await startExecutions([{ ...FAILED, input, error: 'InvalidInput' }]);
    const [execution] = (await list()).executions;
    expect(execution).toMatchObject({ ...fields, outcome: 'failed' });
    expect(execution).not.toHaveProperty('start_date');
  });

  it.each([
    [['list', '--out', 'x'], '--out can only be used with --local'],
    [['list', '--limit', '0'], 'It must be a whole number from 1 to 100.'],
    [
      ['list', '--local', '--out', 'nowhere'],
      'no run has begun in --out nowhere: repeat its command, or name',
    ],
  ])('exits 2 for %j', async (args, message) => {
    const { status, stderr } = await runCommand(args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
