import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../infra/config/config.ts';
import { STATE_MACHINE, startCloudFormation } from '../infra/knowledge/executions/step-functions.ts';
import { runCommand } from '../support/cli.ts';
import { startFastWorkflow } from '../support/run-export.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Workflow } from '../support/workflow.ts';
import { installPython } from './python.ts';

const python = await installPython();

const OUTPUTS = { stateMachine: STATE_MACHINE, bucket: 'ads-bucket', database: 'ads', workgroup: 'ads' };

const ended = new AsyncDisposableStack();
let workflow: Workflow;

beforeAll(async () => {
  workflow = ended.use(await startFastWorkflow({ sandbox: { report: { secondsToReady: 0 } } }));
  const fields = { name: 'daily-campaigns', metrics: ['spend', 'impressions', 'number_of_purchases'] };
  const window = { start_date: '2026-10-01', end_date: '2026-10-04' };
  const dimensions = ['campaign_id', 'campaign_name'];
  for (const request of [
    { ...fields, dimensions, ...window },
    { kind: 'list', name: 'campaigns', resource: 'campaigns' },
  ])
    expect(await workflow.run(workflow.request(request))).toMatchObject({ status: 'SUCCEEDED' });
});

afterAll(() => ended.disposeAsync());

const local = () => ['--local', '--out', workflow.out];

async function writeContract(options: readonly string[]): Promise<string> {
  const { status, stdout } = await runCommand(['contract', ...options]);
  expect(status).toBe(0);
  const file = join(temporaryDirectory(), 'ads.odcs.yaml');
  await writeFile(file, stdout);
  return file;
}

describe('the contract', () => {
  it('of the deployed tables is one of the standard', async () => {
    await startCloudFormation(readConfig().stack, OUTPUTS);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    await python(['check_contract.py', await writeContract([])]);
  });

  it('of local tables is one, and its checks hold for them', async () => {
    const file = await writeContract(local());
    const checks = JSON.parse(await python(['check_contract.py', file, '--test'])) as [string, string][];
    const passed = new Set(checks.flatMap(([kind, result]) => (result === 'passed' ? [kind] : [])));
    expect([...passed].sort()).toEqual([
      'field_is_present',
      'field_required',
      'model_quality_sql',
      'servicelevel_freshness',
    ]);
    // The CLI does not read the types of Parquet files yet.
    const others = checks.filter(([, result]) => result !== 'passed');
    expect(others.filter(([kind]) => kind !== 'field_type')).toEqual([]);
  });
});
