import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../../functions/workflow/errors.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';

const NOW = new Date('2026-11-21T06:00:00Z');
const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';
const valid = {
  name: 'daily-campaigns',
  account: 'acme',
  kind: 'report',
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  advertiser_ids: [ADVERTISER],
  metrics: ['spend'],
  dimensions: ['campaign_id'],
  granularity: 'DAY',
  format: 'JSON',
  max_parallel: 8,
  options: {},
};

/** The faults that a request made of `valid` and these fields has; undefined removes one. */
function faultsOf(change: Record<string, unknown> | string | null): readonly string[] {
  const input = change !== null && typeof change === 'object' ? { ...valid, ...change } : change;
  try {
    parseRequest(JSON.parse(JSON.stringify(input)), NOW);
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as string[];
    throw error;
  }
  return [];
}

describe('a request', () => {
  it('is taken as it is where nothing is wrong', () => {
    expect(parseRequest(valid, NOW)).toEqual({ request: valid, warnings: [] });
  });

  it.each([
    true,
    false,
  ])('38: has dimensions that may be called anything, upgraded or not: %s', (upgrade_dimensions) => {
    const dimensions = ['constructor', 'toString', 'campaign_id'];
    const { request } = parseRequest({ ...valid, dimensions, upgrade_dimensions }, NOW);
    expect(request).toEqual({ ...valid, dimensions });
  });

  it('says of an execution, and not of what is exported, that only what is missing is wanted', () => {
    const parsed = parseRequest({ ...valid, only_missing: true }, NOW);
    const missing = { onlyMissingSince: new Date(0), timeZone: 'UTC' };
    expect(parsed).toEqual({ request: valid, warnings: [], ...missing });
    const there = parseRequest({ ...valid, only_missing: true, time_zone: 'Asia/Tokyo' }, NOW);
    expect(there.timeZone).toBe('Asia/Tokyo');
    expect(() => parseRequest({ ...valid, only_missing: 'yes' }, NOW)).toThrow(/true, false or an ISO/);
    const since = parseRequest({ ...valid, only_missing: '2026-11-21T06:00:00+01:00' }, NOW);
    expect(since.onlyMissingSince).toEqual(new Date('2026-11-21T05:00:00Z'));
    expect(since).not.toHaveProperty('timeZone');
  });

  it('gets the defaults where it leaves something open (contract 2.2)', () => {
    const { kind, granularity, format, max_parallel, options, dimensions, ...least } = valid;
    const { request } = parseRequest(least, NOW);
    expect(request).toEqual({ ...least, kind, granularity, format, max_parallel, options });
  });

  it('takes its dates from a period and the moment of the schedule', () => {
    const { start_date, end_date, ...rest } = valid;
    const scheduled = {
      ...rest,
      period: 'yesterday',
      scheduled_at: '2026-11-20T03:00:00Z',
      time_zone: 'America/New_York',
    };
    expect(parseRequest(scheduled, NOW).request).toMatchObject({
      start_date: '2026-11-18',
      end_date: '2026-11-19',
    });
    expect(parseRequest({ ...rest, period: 'yesterday' }, NOW).request).toMatchObject({
      start_date: '2026-11-20',
    });
  });

  it('may carry options that the contract does not name (contract 2.2)', () => {
    const options = { attribution_window: { days: 7 }, filters: [{ campaign_id: ['a'] }], time_zone: 'UTC' };
    expect(parseRequest({ ...valid, options }, NOW).request).toMatchObject({ options });
  });

  it('38: may name metrics and dimensions beyond the documented ones, with a warning each (contract 2.2, 2.6)', () => {
    const { warnings } = parseRequest({ ...valid, metrics: ['spend', 'roas'], dimensions: ['country'] }, NOW);
    expect(warnings).toEqual([
      'metrics: not among the documented ones, so that the platform decides: roas',
      'dimensions: not among the documented ones, so that the platform decides: country',
    ]);
  });
});

describe('36: a faulty request is refused (contract 2.2)', () => {
  it.each([
    [
      '0 days',
      { end_date: '2026-10-01' },
      ['end_date: is exclusive, so 2026-10-01 to 2026-10-01 has 0 days'],
    ],
    [
      'end before start',
      { end_date: '2026-09-01' },
      ['end_date: 2026-09-01 is before start_date 2026-10-01'],
    ],
    [
      '30 February',
      { start_date: '2026-02-30' },
      ['start_date: must be a date that exists, written YYYY-MM-DD'],
    ],
    [
      'no dates',
      { start_date: undefined, end_date: undefined },
      ['start_date: is missing', 'end_date: is missing'],
    ],
    ['no UUID', { advertiser_ids: ['acme'] }, ['advertiser_ids[0]: must be a UUID']],
    [
      'empty lists',
      { advertiser_ids: [], metrics: [], dimensions: [] },
      ['advertiser_ids: must', 'metrics: must', 'dimensions: must'],
    ],
    [
      'duplicates',
      { advertiser_ids: [ADVERTISER, ADVERTISER.toUpperCase()] },
      [`advertiser_ids: must not repeat ${ADVERTISER}`],
    ],
    [
      'unknown fields',
      { metric: ['spend'], dry_run: true },
      ['metric: is not a field of a request', 'dry_run: is not'],
    ],
    [
      'a name that is no part of a key',
      { name: '../x', account: 'A' },
      ['account: must be 1 to 64', 'name: must be 1 to 64'],
    ],
    ['too many windows', { start_date: '2010-01-01' }, ['end_date: 6148 days are more than the 4500']],
    ['a period beside dates', { period: 'yesterday' }, ['start_date: must not be', 'end_date: must not be']],
    [
      'a period of too many windows',
      { start_date: undefined, end_date: undefined, period: 'last_9999_days' },
      ['period: 9999'],
    ],
    ['a moment before the calendar', { scheduled_at: '0001-01-01T00:00:00Z' }, ['scheduled_at: must be']],
    ['a date that ends the calendar', { end_date: '9999-12-31' }, ['end_date: must be a date that exists']],
    [
      'duplicates beside other faults',
      { metrics: ['x', 'x', 7] },
      ['metrics[2]: must be of type', 'metrics: must not repeat x'],
    ],
    ['max_parallel', { max_parallel: 0 }, ['max_parallel: must be at least 1']],
    ['max_parallel', { max_parallel: 'four' }, ['max_parallel: must be of type']],
    [
      'options that repeat a field',
      { options: { start_date: '2026-01-01' } },
      ['options.start_date: belongs at the top level'],
    ],
    [
      'an option that is another number by now',
      { options: { filters: [{ campaign_id: 2 ** 53 }], top: 2 ** 53 - 1, share: 0.1 } },
      ['options.filters[0].campaign_id: has more digits'],
    ],
    ['a format that is no extension', { format: '../sh' }, ['format: must be 1 to 16 letters or digits']],
    ['more than a state can carry', { options: { filter: 'x'.repeat(120_000) } }, ['the request has']],
    ['another kind', { kind: 'audience' }, ['kind: must be']],
  ])('%s', (_, change, expected) => {
    const faults = faultsOf(change);
    for (const fault of expected) expect(faults).toContainEqual(expect.stringContaining(fault));
    expect(faults).toHaveLength(expected.length);
  });

  it('37: legacy dimension names are refused with the new ones, or translated where that is wanted (contract 9.5)', () => {
    const dimensions = ['conv_integration_id', 'campaign_id', 'conv_integration_os'];
    const faults = faultsOf({ dimensions });
    expect(faults).toEqual([
      expect.stringContaining('dimensions[0]: conv_integration_id is now called event_source_id'),
      expect.stringContaining('dimensions[2]: conv_integration_os is now called event_source_platform'),
    ]);
    const upgraded = parseRequest({ ...valid, dimensions, upgrade_dimensions: true }, NOW);
    expect(upgraded.request).toMatchObject({
      dimensions: ['event_source_id', 'campaign_id', 'event_source_platform'],
    });
    expect(upgraded.warnings).toHaveLength(2);
  });

  it('whose options are nested deeper than can be read', () => {
    const options = JSON.parse(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`);
    expect(() => parseRequest({ ...valid, options }, NOW)).toThrow(InvalidInput);
  });

  it('with every fault at once, those between fields included', () => {
    const faults = faultsOf({
      name: '',
      end_date: '2026-09-01',
      advertiser_ids: ['x', 'x'],
      metrics: 'spend',
      dimensions: ['conv_integration_os'],
      max_parallel: 99,
      surprise: 1,
    });
    const fields = [
      'name',
      'end_date',
      'advertiser_ids',
      'metrics',
      'dimensions[0]',
      'max_parallel',
      'surprise',
    ];
    for (const field of fields) expect(faults).toContainEqual(expect.stringContaining(`${field}:`));
  });

  it.each([['text'], [null]])('that is no object: %j', (input) => {
    expect(faultsOf(input)).toEqual(['the request must be of type object']);
  });
});

describe('a purchase query (contract 2.4)', () => {
  const purchases = {
    ...{ name: 'purchases', account: 'acme', kind: 'purchases', advertiser_id: ADVERTISER },
    ...{ start_date: '2026-01-01', end_date: '2026-10-01' },
  };

  it('may span any number of days, and carry options', () => {
    const { request } = parseRequest({ ...purchases, options: { currency: 'USD' } }, NOW);
    expect(request).toEqual({ ...purchases, options: { currency: 'USD' }, max_parallel: 1 });
  });

  it('may name one day in either way, since the contract does not say whether its end is exclusive', () => {
    const oneDay = { ...purchases, end_date: purchases.start_date };
    expect(parseRequest(oneDay, NOW).request.end_date).toBe(purchases.start_date);
  });

  it('is refused with every fault at once', () => {
    const faults = refused({
      ...purchases,
      ...{ advertiser_id: 'x', metrics: ['spend'], end_date: '2025-01-01', options: { start_date: 'x' } },
    });
    for (const field of ['advertiser_id', 'metrics', 'end_date', 'options.start_date']) {
      expect(faults).toContainEqual(expect.stringContaining(`${field}:`));
    }
    expect(faults).toHaveLength(4);
  });
});

describe('a list (contract 4.6, 8)', () => {
  const list = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' };

  it('is a snapshot of the day, in pages of 5,000', () => {
    expect(parseRequest(list, NOW).request).toEqual({
      ...list,
      ...{ limit: 5000, filters: {}, start_date: '2026-11-21', end_date: '2026-11-22', max_parallel: 1 },
    });
    const moved = { ...list, scheduled_at: '2026-11-21T01:00:00Z', time_zone: 'America/New_York' };
    expect(parseRequest(moved, NOW).request.start_date).toBe('2026-11-20');
    expect(parseRequest({ ...list, snapshot_date: '2026-02-28' }, NOW).request.end_date).toBe('2026-03-01');
  });

  it('is refused with every fault at once', () => {
    const faults = refused({
      ...list,
      ...{
        resource: 'a/b',
        limit: 5001,
        filters: { offset: 1, x: [], id: 1e19 },
        items: '.',
        advertiser_ids: [],
      },
    });
    for (const field of [
      'resource',
      'limit',
      'filters.x',
      'filters.offset',
      'filters.id',
      'items',
      'advertiser_ids',
    ]) {
      expect(faults).toContainEqual(expect.stringContaining(`${field}:`));
    }
    expect(faults).toHaveLength(7);
  });
});

function refused(input: unknown): readonly string[] {
  try {
    parseRequest(input, NOW);
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as string[];
    throw error;
  }
  return [];
}
