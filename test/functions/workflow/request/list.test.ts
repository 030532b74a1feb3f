import { describe, expect, it } from 'vitest';
import { faultsOf, LIST, NORMALIZED_LIST, parsed } from '../../../support/requests.ts';

describe('a list (contract 4.6, 8)', () => {
  it('is a snapshot of today in the largest pages by default', () => {
    expect(parsed(LIST)).toStrictEqual({ request: NORMALIZED_LIST, warnings: [] });
  });

  it.each([
    [{ snapshot_date: '2026-02-28' }, '2026-02-28', '2026-03-01'],
    [{ scheduled_at: '2026-11-21T01:00:00Z', time_zone: 'America/New_York' }, '2026-11-20', '2026-11-21'],
  ])('takes its day from %j', (fields, start_date, end_date) => {
    expect(parsed({ ...LIST, ...fields }).request).toEqual({ ...NORMALIZED_LIST, start_date, end_date });
  });

  it('sends each filter as text', () => {
    const filters = { status: 'active', archived: false, min: 7, share: 0.5, 'created_at[lt]': '2026' };
    expect(parsed({ ...LIST, filters })).toMatchObject({
      request: {
        filters: { status: 'active', archived: 'false', min: '7', share: '0.5', 'created_at[lt]': '2026' },
      },
    });
  });

  it.each<[object, string]>([
    [{ limit: 0 }, 'limit: must be at least 1'],
    [{ limit: 5001 }, 'limit: must be at most 5000'],
    [{ limit: 1.5 }, 'limit: must be a whole number'],
    [{ limit: '20' }, 'limit: must be of type number'],
    [
      { filters: { offset: 0 } },
      'filters.offset: is set by the export itself (limit is a field of the request)',
    ],
    [{ filters: { x: [1] } }, 'filters.x: must be a string, a number or a boolean'],
    [{ resource: undefined }, 'resource: is missing'],
    ...['', '..', 'a/b', 'a'.repeat(65)].map((resource): [object, string] => [
      { resource },
      'resource: must be one segment of a path, such as campaigns or audiences',
    ]),
    [{ items: 'data..items' }, 'items: must be a path, such as data.items'],
    [{ snapshot_date: '2026-02-29' }, 'snapshot_date: must be a date that exists, written YYYY-MM-DD'],
    [{ start_date: '2026-01-01' }, 'start_date: is not a field of a request'],
    [{ options: {} }, 'options: is not a field of a request'],
  ])('36: is refused with %j', (change, fault) => {
    expect(faultsOf({ ...LIST, ...change })).toEqual([fault]);
  });

  it.each([
    { limit: 1, resource: 'a', items: 'items', accept_empty: true },
    { limit: 5000, resource: 'Impression_tracking-2', items: 'data.items', revision: '2026-05-01' },
    { resource: 'a'.repeat(64), filters: {} },
  ])('is accepted with %j', (change) => {
    expect(parsed({ ...LIST, ...change }).request).toEqual({ ...NORMALIZED_LIST, ...change });
  });
});
