import { expect, it } from 'vitest';
import { objectKey } from '../../../functions/workflow/keys.ts';
import { parsed, REPORT } from '../../support/requests.ts';

it('a report in CSV is stored as report.csv', () => {
  const { request } = parsed({ ...REPORT, format: 'CSV' });
  const folder = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-11-01';
  expect(objectKey(request, REPORT)).toBe(`${folder}/report.csv`);
});
