import { describe, expect, it } from 'vitest';
import {
  type Conditions,
  commonWorkflow,
  expectFailed,
  keysOf,
  type Outcome,
  runExport,
} from '../support/run-export.ts';

const workflow = await commonWorkflow();

const RANGE = { start_date: '2026-01-01', end_date: '2026-10-01' };
const [ADVERTISER] = workflow.sandbox.advertiserIds;

function query(conditions: Conditions = {}, fields: Record<string, unknown> = {}): Promise<Outcome> {
  return runExport(workflow, { ...conditions, request: { kind: 'purchases', ...RANGE, ...fields } });
}

describe('4.5: a purchase query', () => {
  it('is sent once for a range of any length and announced like a report', async () => {
    const outcome = await query({}, { name: 'purchases' });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.callsTo('purchases').map(({ body }) => JSON.parse(body))).toEqual([
      { advertiser_id: ADVERTISER, ...RANGE },
    ]);
    const prefix = 'exports/account=sandbox/export=purchases/start_date=2026-01-01/end_date=2026-10-01/';
    expect(await keysOf(workflow, 'purchases')).toEqual([
      `${prefix}_manifest.json`,
      `${prefix}purchases.json`,
    ]);
    expect(outcome.manifest).toMatchObject({
      ...{ kind: 'purchases', key: `${prefix}purchases.json`, bytes: outcome.object?.length },
      content_type: 'application/json',
    });
    expect(outcome.manifest).not.toHaveProperty('report_id');
    expect(outcome.announced).toMatchObject([
      { 'detail-type': 'Report Exported', detail: { kind: 'purchases' } },
    ]);
  });

  it.each<[string, unknown]>([
    ['an object', { purchases: [], next: null }],
    ['an array', [{ id: 1 }]],
    ['a number', 42],
    ['a string', 'none'],
    ['null', null],
  ])('4.5: is delivered unchanged if its answer is %s', async (_, shape) => {
    const outcome = await query({ sandbox: { purchases: () => shape } });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(String(outcome.object)).toBe(JSON.stringify(shape));
  });

  it.each([
    ['1: retries a 401 with a new token', 'purchases status=401', 2],
    ['7: retries an answer that breaks off', 'purchases reset=after', 2],
    ['8: waits after a 429', 'purchases status=429 times=2', 3],
    ['11: retries an HTML page', 'purchases body="<html>" header.content-type=text/html', 2],
  ])('%s', async (_, fault, calls) => {
    const outcome = await query({ faults: [fault] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.callsTo('purchases')).toHaveLength(calls);
    expect(JSON.parse(String(outcome.object))).toHaveProperty('purchases');
  });

  it('11: fails after two HTML pages', async () => {
    const page = 'purchases body="<html>" header.content-type=text/html times=always';
    expectFailed(await query({ faults: [page] }), 'AnswerUnreadable');
  });

  it('2.5, 7.1: fails with what an error envelope of only the required fields says', async () => {
    const unknown = { advertiser_id: '00000000-0000-4000-8000-000000000000' };
    const outcome = await query({ sandbox: { bareEnvelope: true } }, unknown);
    expectFailed(outcome, 'RequestRefused');
    const [refused] = outcome.callsTo('purchases');
    expect(outcome.failure.request_ids).toEqual([refused?.requestId]);
  });
});
