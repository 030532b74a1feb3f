import { expect, it } from 'vitest';
import { failureKey, manifestKey, objectKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';

const FOLDER = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-08/';
const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
const names = { account: 'acme', name: 'daily' };

it.each([
  [{ kind: 'report', format: 'JSON' }, 'report.json'],
  [{ kind: 'report', format: 'CSV' }, 'report.csv'],
  [{ kind: 'purchases' }, 'purchases.json'],
  [{ kind: 'list', resource: 'creatives' }, 'creatives.ndjson'],
])('the object of %j is %s in its window’s folder', (fields, file) => {
  expect(objectKey({ ...names, ...fields } as unknown as ExportRequest, window)).toBe(`${FOLDER}${file}`);
});

it('the manifest and the failure report are next to the object', () => {
  expect([manifestKey(names, window), failureKey(names, window)]).toEqual([
    ...[`${FOLDER}_manifest.json`, `${FOLDER}_failure.json`],
  ]);
});
