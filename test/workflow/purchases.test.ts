import { describe, expect, it } from 'vitest';
import { callsTo } from '../support/journal.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { startWorkflow, type Workflow } from '../support/workflow.ts';

const PREFIX = 'exports/account=sandbox/export=purchases/start_date=2026-01-01/end_date=2026-10-01/';

function query({ sandbox }: Workflow, fields: Record<string, unknown> = {}) {
  return {
    ...{ name: 'purchases', account: 'sandbox', kind: 'purchases' },
    ...{ advertiser_id: sandbox.advertiserIds[0], start_date: '2026-01-01', end_date: '2026-10-01' },
    ...fields,
  };
}

describe('4.5: a purchase query', () => {
  it('is asked once for a range of any length, and announced as a report is', async () => {
    await using workflow = await startWorkflow();
    const ended = await workflow.run(query(workflow));
    expect(ended.status).toBe('SUCCEEDED');
    expect(callsTo(workflow.sandbox, 'purchases').map(({ body }) => JSON.parse(body))).toEqual([
      {
        advertiser_id: workflow.sandbox.advertiserIds[0],
        ...{ start_date: '2026-01-01', end_date: '2026-10-01' },
      },
    ]);
    expect(await workflow.keys()).toEqual([`${PREFIX}_manifest.json`, `${PREFIX}purchases.json`]);
    const manifest = JSON.parse(String(await workflow.object(`${PREFIX}_manifest.json`)));
    const bytes = await workflow.object(`${PREFIX}purchases.json`);
    expect(manifest).toMatchObject({
      ...{ kind: 'purchases', key: `${PREFIX}purchases.json`, bytes: bytes.length },
      content_type: 'application/json',
    });
    expect(manifest).not.toHaveProperty('report_id');
    expect(workflow.bus.events).toMatchObject([
      { 'detail-type': 'Report Exported', detail: { kind: 'purchases' } },
    ]);
    await expectNoSecretWritten(workflow);
  });

  it.each<[string, unknown]>([
    ['an object', { purchases: [], next: null }],
    ['an array', [{ id: 1 }]],
    ['a number', 42],
    ['a string', 'none'],
    ['null', null],
  ])('4.5: its answer may be %s, and is delivered unchanged', async (_, shape) => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { purchases: () => shape } });
    expect((await workflow.run(query(workflow))).status).toBe('SUCCEEDED');
    expect(String(await workflow.object(`${PREFIX}purchases.json`))).toBe(JSON.stringify(shape));
  });

  it('is tried again where its answer breaks off, and nothing incomplete is visible', async () => {
    await using workflow = await startWorkflow({
      speed: 1000,
      sandbox: { faults: ['purchases reset=after'] },
    });
    expect((await workflow.run(query(workflow))).status).toBe('SUCCEEDED');
    expect(callsTo(workflow.sandbox, 'purchases')).toHaveLength(2);
  });

  it.each([
    ['1: a token that is refused is renewed', 'purchases status=401', 'SUCCEEDED'],
    ['8: a 429 is waited for', 'purchases status=429 times=2', 'SUCCEEDED'],
    [
      '11: a page for people is not delivered',
      'purchases body="<html>" header.content-type=text/html',
      'SUCCEEDED',
    ],
    ['11: nor twice', 'purchases body="<html>" header.content-type=text/html times=always', 'FAILED'],
  ])('%s', async (_, fault, status) => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { faults: [fault] } });
    expect((await workflow.run(query(workflow))).status).toBe(status);
    expect(await workflow.keys()).toHaveLength(status === 'SUCCEEDED' ? 2 : 1);
  });

  it('2.5, 7.1: fails with what an envelope of only the required fields says', async () => {
    await using workflow = await startWorkflow({ sandbox: { bareEnvelope: true } });
    const ended = await workflow.run(
      query(workflow, { advertiser_id: '00000000-0000-4000-8000-000000000000' }),
    );
    expect(ended).toMatchObject({ status: 'FAILED', error: 'RequestRefused' });
    const [refused] = callsTo(workflow.sandbox, 'purchases');
    expect(JSON.parse(ended.cause ?? '').request_ids).toEqual([refused?.requestId]);
  });
});
