import { expect, it } from 'vitest';
import { commonWorkflow, keysOf, runExport } from '../support/run-export.ts';

const workflow = await commonWorkflow();

const RANGE = { start_date: '2026-01-01', end_date: '2026-10-01' };

it('1, 7, 8, 11: a purchase query is sent until it is answered, and announced like a report (contract 4.5)', async () => {
  const outcome = await runExport(workflow, {
    request: { name: 'purchases', kind: 'purchases', ...RANGE },
    faults: [
      ...['purchases status=401', 'purchases nth=2 reset=after', 'purchases nth=3 status=429'],
      'purchases nth=4 body="<html>" header.content-type=text/html',
    ],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const [advertiser_id] = workflow.sandbox.advertiserIds;
  const sent = outcome.callsTo('purchases').map(({ body }) => JSON.parse(body));
  expect(sent).toEqual(Array(5).fill({ advertiser_id, ...RANGE }));
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
