import { expect, it } from 'vitest';
import { commonWorkflow, keysOf, runExport } from '../support/run-export.ts';

const workflow = await commonWorkflow();

const REQUEST = { kind: 'purchases', start_date: '2026-01-01', end_date: '2026-10-01' };

it('4.5: a purchase query is sent once for a range of any length and announced like a report', async () => {
  const outcome = await runExport(workflow, { request: { ...REQUEST, name: 'purchases' } });
  expect(outcome.status).toBe('SUCCEEDED');
  const [advertiser_id] = workflow.sandbox.advertiserIds;
  expect(outcome.callsTo('purchases').map(({ body }) => JSON.parse(body))).toEqual([
    { advertiser_id, start_date: REQUEST.start_date, end_date: REQUEST.end_date },
  ]);
  const prefix = 'exports/account=sandbox/export=purchases/start_date=2026-01-01/end_date=2026-10-01/';
  expect(await keysOf(workflow, 'purchases')).toEqual([`${prefix}_manifest.json`, `${prefix}purchases.json`]);
  expect(outcome.manifest).toMatchObject({
    kind: 'purchases',
    key: `${prefix}purchases.json`,
    bytes: outcome.object?.length,
    content_type: 'application/json',
  });
  expect(outcome.manifest).not.toHaveProperty('report_id');
  expect(outcome.announced).toMatchObject([{ detail: { kind: 'purchases' } }]);
});

it.each([
  ['1: retries a 401 with a new token', 'purchases status=401', 2],
  ['7: retries an answer that breaks off', 'purchases reset=after', 2],
  ['8: waits after a 429', 'purchases status=429 times=2', 3],
  ['11: retries an HTML page', 'purchases body="<html>" header.content-type=text/html', 2],
])('4.5: a purchase query %s', async (_, fault, calls) => {
  const outcome = await runExport(workflow, { request: REQUEST, faults: [fault] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('purchases')).toHaveLength(calls);
});
