import { describe, expect, it } from 'vitest';
import { ADVERTISER, faultsOf, NORMALIZED_PURCHASES, PURCHASES, parsed } from '../../../support/requests.ts';

describe('a purchase query (contract 2.4)', () => {
  it.each([
    {},
    { options: { currency: 'USD' }, revision: '2026-05-01' },
  ])('keeps its fields: %j', (fields) => {
    const request = { ...NORMALIZED_PURCHASES, ...fields };
    expect(parsed({ ...PURCHASES, ...fields })).toStrictEqual({ request, warnings: [] });
  });

  it.each([
    ['one day, whether or not its end is exclusive', '2026-01-01', '2026-01-01'],
    ['4,500 days', '2014-01-01', '2026-04-28'],
  ])('may span %s', (_, start_date, end_date) => {
    expect(faultsOf({ ...PURCHASES, start_date, end_date })).toEqual([]);
  });

  it.each([
    [
      { start_date: '2014-01-01', end_date: '2026-04-29' },
      'end_date: 4501 days are more than the 4500 that one export may span; split it',
    ],
    [{ end_date: '2025-12-31' }, 'end_date: 2025-12-31 is before start_date 2026-01-01'],
    [{ advertiser_id: 'acme' }, 'advertiser_id: must be a UUID'],
    [{ advertiser_id: undefined }, 'advertiser_id: is missing'],
    [{ options: { advertiser_id: 'x' } }, 'options.advertiser_id: belongs at the top level of the request'],
    [
      { advertiser_ids: [ADVERTISER] },
      'advertiser_ids: is not a field of a request (did you mean advertiser_id?)',
    ],
    [{ max_parallel: 1 }, 'max_parallel: is not a field of a request'],
  ])('36: is refused with %j', (change, fault) => {
    expect(faultsOf({ ...PURCHASES, ...change })).toEqual([fault]);
  });
});
