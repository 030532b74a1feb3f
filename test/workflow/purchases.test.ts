import { describe, expect, it } from 'vitest';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../support/run-export.ts';

const workflow = await shareWorkflow({ speed: 1000, sandbox: { tokenSeconds: 86_400 } });

const RANGE = { start_date: '2026-01-01', end_date: '2026-10-01' };
const [ADVERTISER] = workflow.sandbox.advertiserIds;

/** A day on which purchases are asked for. */
function query(day: Conditions = {}, fields: Record<string, unknown> = {}): Promise<Outcome> {
  const notAReports = { advertiser_ids: undefined, metrics: undefined };
  const asked = { kind: 'purchases', advertiser_id: ADVERTISER, ...RANGE, ...fields };
  return runExport(workflow, { ...day, request: { ...notAReports, ...asked } });
}

describe('4.5: a purchase query', () => {
  it('is asked once for a range of any length, and announced as a report is', async () => {
    const outcome = await query({}, { name: 'purchases' });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.callsTo('purchases').map(({ body }) => JSON.parse(body))).toEqual([
      { advertiser_id: ADVERTISER, ...RANGE },
    ]);
    const prefix = 'exports/account=sandbox/export=purchases/start_date=2026-01-01/end_date=2026-10-01/';
    const keys = (await workflow.keys()).filter((key) => key.includes('/export=purchases/'));
    expect(keys).toEqual([`${prefix}_manifest.json`, `${prefix}purchases.json`]);
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
  ])('4.5: its answer may be %s, and is delivered unchanged', async (_, shape) => {
    const outcome = await query({ sandbox: { purchases: () => shape } });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(String(outcome.object)).toBe(JSON.stringify(shape));
  });

  it('is tried again where its answer breaks off, and nothing incomplete is visible', async () => {
    const outcome = await query({ faults: ['purchases reset=after'] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.callsTo('purchases')).toHaveLength(2);
  });

  it.each([
    ['1: a token that is refused is renewed', 'purchases status=401'],
    ['8: a 429 is waited for', 'purchases status=429 times=2'],
    ['11: a page for people is not delivered', 'purchases body="<html>" header.content-type=text/html'],
  ])('%s', async (_, fault) => {
    const outcome = await query({ faults: [fault] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(JSON.parse(String(outcome.object))).toHaveProperty('purchases');
  });

  it('11: nor twice', async () => {
    const page = 'purchases body="<html>" header.content-type=text/html times=always';
    expectFailed(await query({ faults: [page] }), 'AnswerUnreadable');
  });

  it('2.5, 7.1: fails with what an envelope of only the required fields says', async () => {
    const unknown = { advertiser_id: '00000000-0000-4000-8000-000000000000' };
    const outcome = await query({ sandbox: { bareEnvelope: true } }, unknown);
    expectFailed(outcome, 'RequestRefused');
    const [refused] = outcome.callsTo('purchases');
    expect(outcome.failure.request_ids).toEqual([refused?.requestId]);
  });
});
