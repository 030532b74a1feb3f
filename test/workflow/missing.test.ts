import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import { addDays, dateIn } from '../../functions/workflow/request/dates.ts';
import type { JournalEntry } from '../../infra/local/s3/server.ts';
import { commonWorkflow, keysOf, recordJournals } from '../support/run-export.ts';
import { removeObject } from '../support/workflow-objects.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

/** Days that are over, whenever the test runs. */
const OVER = { start_date: '2025-10-01', end_date: '2025-10-08' };

const THREE_WINDOWS = { end_date: '2026-01-01', max_parallel: 1 };

let exports = 0;

/** Two requests of a new name: of everything, and of only what is missing. */
function requests(fields: Record<string, unknown> = {}) {
  exports += 1;
  const dates = fields.kind === 'list' ? {} : OVER;
  const all = workflow.request({ name: `missing-${exports}`, ...dates, ...fields });
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

  it.each(['report', 'purchases', 'list'])('of kind %s calls nobody if nothing is missing', async (kind) => {
    const { all, onlyMissing } = requests({ kind });
    const whole = recordJournals(workflow);
    expect((await workflow.run(all)).status).toBe('SUCCEEDED');
    const since = recordJournals(workflow);
    const { status, output } = await workflow.run(onlyMissing);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ already_delivered: 1, windows: [], bytes: 0 });
    expect(output).not.toHaveProperty('empty');
    expect(since().calls).toEqual([]);
    expect(whole().announced.map((event) => event['detail-type'])).toEqual([
      'Report Exported',
      'Report Exported',
    ]);
  });

  it('exports again, with a warning, a window that was delivered for another request', async () => {
    const { all, onlyMissing } = requests();
    const since = recordJournals(workflow);
    await workflow.run(all);
    const { output } = await workflow.run({ ...onlyMissing, metrics: ['impressions'] });
    expect(output).toMatchObject({
      already_delivered: 0,
      warnings: [
        expect.stringContaining('another request'),
        expect.stringMatching(/^days of table .* until now/),
      ],
    });
    expect(since().callsTo('create')).toHaveLength(2);
  });

  it('exports again, with a warning, a window that was delivered before its last day was over', async () => {
    const dayFrom = (days: number) => addDays(dateIn('UTC', new Date(workflow.clock.now())), days);
    const { all, onlyMissing } = requests({ start_date: dayFrom(-3), end_date: dayFrom(2) });
    const since = recordJournals(workflow);
    await workflow.run(all);
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({ already_delivered: 0, windows: [{}] });
    expect(output).toMatchObject({
      warnings: expect.arrayContaining([expect.stringContaining('before their last day was over')]),
    });
    expect(since().callsTo('create')).toHaveLength(2);
  });

  it('exports again a window that failed after it was delivered, and removes the failure report', async () => {
    const { name, all, onlyMissing } = requests({ ...THREE_WINDOWS, table: false });
    await workflow.run(all);
    workflow.sandbox.faults.add('create nth=2 status=403');
    expect((await workflow.run(all)).status).toBe('FAILED');
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({
      already_delivered: 2,
      windows: [{ window: { start_date: '2025-11-15' } }],
    });
    expect(await failuresOf(name)).toEqual([]);
  });

  it('exports again a window whose object was removed', async () => {
    const { name, all, onlyMissing } = requests();
    const reports = async () => (await keysOf(workflow, name)).filter((key) => key.endsWith('report.json'));
    await workflow.run(all);
    const [key = ''] = await reports();
    await removeObject(workflow, key);
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({ already_delivered: 0, windows: [{ key }], warnings: [] });
    expect(await reports()).toEqual([key]);
  });

  it('28: exports again a window whose object was replaced by a run without a manifest', async () => {
    const { name, all, onlyMissing } = requests();
    const read = async (end: string) => {
      const key = (await keysOf(workflow, name)).find((one) => one.endsWith(end));
      return workflow.object(key ?? end);
    };
    await workflow.run(all);
    const before = await read('/report.json');
    workflow.sandbox.faults.add('storage changed');
    for (const key of ['_manifest.json', '_failure.json'])
      addFault({ operation: 'PutObject', key, answer: 'AccessDenied', times: 9 });
    expect((await workflow.run(all)).status).toBe('FAILED');
    const replaced = await read('/report.json');
    expect([replaced.length, replaced.equals(before)]).toEqual([before.length, false]);
    workflow.s3.faults.splice(0);

    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({ already_delivered: 0, windows: [{}], warnings: [] });
    const { checksum } = JSON.parse(String(await read('/_manifest.json')));
    expect(checksum.value).toBe(base64Crc32(crc32(await read('/report.json'))));
  });

  it('28: exports again, as a whole, a window that a run wrote to the table before it was stopped', async () => {
    const { name, all, onlyMissing } = requests();
    addFault({ operation: 'PutObject', key: '_manifest.json', answer: 'SlowDown', times: 99 });
    const before = workflow.s3.journal.length;
    const stopped = workflow.export(all);
    const isRefused = ({ key, status }: JournalEntry) => key.endsWith('_manifest.json') && status === 503;
    await vi.waitUntil(() => workflow.s3.journal.slice(before).some(isRefused), { timeout: 20_000 });
    stopped.abort();
    await stopped.result;
    // A retry that is under way could write the manifest once S3 works again.
    await workflow.functionOf('PublishWindow').kill();
    expect((await workflow.keys()).filter((key) => key.startsWith(`tables/${name}/`))).toHaveLength(7);
    workflow.s3.faults.splice(0);
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({ already_delivered: 0, windows: [{ window: OVER }] });
    expect((await keysOf(workflow, name)).filter((key) => key.endsWith('_manifest.json'))).toHaveLength(1);
  });

  it('44: exports again the days that were written and never registered, and no others', async () => {
    const { all, onlyMissing } = requests();
    const operation = 'BatchCreatePartition';
    const { glue } = workflow;
    const before = glue.journal.length;
    await workflow.run({ ...all, end_date: '2025-10-04' });
    glue.faults.push({ operation, answer: 'hang', times: 9 });
    const killed = workflow.export({ ...all, start_date: '2025-10-04' });
    const isHung = (call: { error?: string }) => call.error === 'hang';
    await vi.waitUntil(() => glue.journal.slice(before).some(isHung), { timeout: 20_000 });
    killed.abort();
    await killed.result;
    await workflow.functionOf('CurateReport').kill();
    glue.faults.splice(0);
    const { output } = await workflow.run(onlyMissing);
    expect(output).toMatchObject({
      windows: [{ window: { start_date: '2025-10-04', end_date: '2025-10-08' } }],
    });
  });

  it('fails and names the permissions if S3 refuses HEAD of an object', async () => {
    const { all, onlyMissing } = requests();
    await workflow.run(all);
    addFault({ operation: 'HeadObject', answer: 'AccessDenied' });
    const { error, cause } = await workflow.run(onlyMissing);
    expect(error).toBe('AccessRefused');
    expect(JSON.parse(cause ?? '').happened).toContain('s3:GetObject and s3:ListBucket');
  });

  it('fails and names the permissions if S3 refuses GET of a manifest', async () => {
    const since = recordJournals(workflow);
    addFault({ operation: 'GetObject', answer: 'AccessDenied' });
    const { status, error, cause } = await workflow.run(requests().onlyMissing);
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'AccessRefused' });
    expect(JSON.parse(cause ?? '').happened).toContain('s3:GetObject and s3:ListBucket');
    expect(since().calls).toEqual([]);
  });

  it('retries if S3 is not available', async () => {
    addFault({ operation: 'GetObject', answer: 'SlowDown', times: 2 });
    expect((await workflow.run(requests().onlyMissing)).status).toBe('SUCCEEDED');
    expect(workflow.s3.faults).toMatchObject([{ times: 0 }]);
  });
});
