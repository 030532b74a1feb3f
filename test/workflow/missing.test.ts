import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { S3Call } from '../support/faulty-services.ts';
import { commonWorkflow, keysOf, recordJournals } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

/** Days that are over, whenever the test runs. */
const OVER = { start_date: '2025-10-01', end_date: '2025-10-08' };

const THREE_WINDOWS = { end_date: '2026-01-01', max_parallel: 1, table: false };

let exports = 0;

/** Two requests of a new name: of everything, and of only what is missing. */
function requests(fields: Record<string, unknown> = {}) {
  exports += 1;
  const all = workflow.request({ name: `missing-${exports}`, ...OVER, ...fields });
  return { name: String(all.name), all, onlyMissing: { ...all, only_missing: true } };
}

async function failuresOf(name: string): Promise<string[]> {
  return (await keysOf(workflow, name)).filter((key) => key.endsWith('_failure.json'));
}

/** Adds a fault until the test ends. */
function addFault(fault: (typeof workflow.s3.faults)[number]): void {
  workflow.s3.faults.push(fault);
  onTestFinished(() => void workflow.s3.faults.splice(0));
}

describe('an export of only what is missing', () => {
  it('30: exports the windows that failed with a fresh token, and no others', async () => {
    const { name, all, onlyMissing } = requests(THREE_WINDOWS);
    const since = recordJournals(workflow);
    workflow.sandbox.faults.add('create nth=2 status=403');
    expect((await workflow.run(all)).status).toBe('FAILED');
    const before = since();
    await forgetTokens(workflow);
    expect((await failuresOf(name)).map((key) => key.split('/').slice(3, 5).join(' '))).toEqual([
      'start_date=2025-10-01 end_date=2026-01-01',
      'start_date=2025-11-15 end_date=2025-12-30',
    ]);

    const { status, output } = await workflow.run(onlyMissing);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({
      already_delivered: 2,
      windows: [{ window: { start_date: '2025-11-15', end_date: '2025-12-30' } }],
    });
    expect(since().announced.at(-1)?.detail).toEqual(output);
    expect(since().callsTo('create')).toHaveLength(4);
    expect(since().callsTo('token').length).toBeGreaterThan(before.callsTo('token').length);
    const keys = await keysOf(workflow, name);
    expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(3);
    expect(await failuresOf(name)).toEqual([]);
  });

  it('calls nobody if nothing is missing', async () => {
    const { all, onlyMissing } = requests();
    expect((await workflow.run(all)).status).toBe('SUCCEEDED');
    const since = recordJournals(workflow);
    const { status, output } = await workflow.run(onlyMissing);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ already_delivered: 1, windows: [], bytes: 0 });
    expect(output).not.toHaveProperty('empty');
    expect(since().calls).toEqual([]);
    expect(since().announced).toMatchObject([{ 'detail-type': 'Report Exported' }]);
  });

  it('28: exports again, as a whole, a window that a run wrote to the table before it was stopped', async () => {
    const { name, all, onlyMissing } = requests();
    addFault({ operation: 'PutObject', key: '_manifest.json', answer: 'SlowDown', times: 99 });
    const before = workflow.s3.journal.length;
    const stopped = workflow.export(all);
    const isRefused = ({ key, status }: S3Call) => key.endsWith('_manifest.json') && status === 503;
    await vi.waitUntil(() => workflow.s3.journal.slice(before).some(isRefused), { timeout: 20_000 });
    stopped.abort();
    await stopped.result;
    // A retry that is under way could write the manifest once S3 works again.
    await workflow.functionOf('PublishWindow').kill();
    expect(await workflow.keys()).toContain(`tables/${name}/sandbox.2025-10.parquet`);
    workflow.s3.faults.splice(0);
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({ already_delivered: 0, windows: [{ window: OVER }] });
    expect((await keysOf(workflow, name)).filter((key) => key.endsWith('_manifest.json'))).toHaveLength(1);
  });

  it('retries if S3 is not available', async () => {
    addFault({ operation: 'GetObject', answer: 'SlowDown', times: 2 });
    expect((await workflow.run(requests().onlyMissing)).status).toBe('SUCCEEDED');
    expect(workflow.s3.faults).toMatchObject([{ times: 0 }]);
  });
});
