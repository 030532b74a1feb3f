import { describe, expect, it } from 'vitest';
import { rangeOf } from '../../../../functions/workflow/request/fields.ts';
import { ADVERTISER, faultsOf, parsed } from '../../../support/requests.ts';

const dates = { start_date: '2026-10-01', end_date: '2026-11-01' };
const rest = { name: 'daily', account: 'acme', advertiser_ids: [ADVERTISER], metrics: ['spend'] };
const NAME = 'must be 1 to 64 characters of a-z, 0-9, _ and -, the first a letter or digit';
const DATE = 'must be a date that exists, written YYYY-MM-DD';

describe('36: what requests of every kind have', () => {
  it.each([
    [{ name: 'a'.repeat(65) }, `name: ${NAME}`],
    [{ name: '' }, `name: ${NAME}`],
    [{ name: '_a' }, `name: ${NAME}`],
    [{ account: 'Acme' }, `account: ${NAME}`],
    [{ account: 7 }, 'account: must be of type string'],
    [{ revision: '2026-13-01' }, `revision: ${DATE}`],
    [{ time_zone: 'Mars/Olympus' }, 'time_zone: must be an IANA time zone, such as Europe/Berlin'],
    [{ time_zone: '' }, 'time_zone: must be an IANA time zone, such as Europe/Berlin'],
    [{ scheduled_at: '2026-11-21' }, 'scheduled_at: must be an ISO 8601 instant'],
    [{ only_missing: 1 }, 'only_missing: must be true, false or an ISO 8601 instant'],
    [{ only_missing: '2026-11-21' }, 'only_missing: must be true, false or an ISO 8601 instant'],
    [{ options: [] }, 'options: must be of type record'],
  ])('is refused as %j', (change, fault) => {
    expect(faultsOf({ ...rest, ...dates, ...change })).toEqual([fault]);
  });

  it.each([
    { name: 'a'.repeat(64) },
    { name: '0-_' },
    { revision: '2026-02-28' },
    { time_zone: 'Europe/Berlin' },
    { time_zone: 'UTC' },
    { scheduled_at: '2026-11-21T06:00:00+01:00' },
    { scheduled_at: '2026-11-21T06:00:00.123Z' },
    { only_missing: false },
    { only_missing: '2026-11-21T06:00:00Z' },
  ])('is taken as %j', (change) => {
    expect(faultsOf({ ...rest, ...dates, ...change })).toEqual([]);
  });
});

describe('36: the range of a request', () => {
  it.each<[string, object, string[]]>([
    [
      'no dates and no period',
      {},
      ['start_date', 'end_date'].map((field) => `${field}: is missing (or give a period)`),
    ],
    ['no end', { start_date: '2026-10-01' }, ['end_date: is missing (or give a period)']],
    ['no start', { end_date: '2026-10-01' }, ['start_date: is missing (or give a period)']],
    ['a number for a date', { ...dates, start_date: 20261001 }, ['start_date: must be of type string']],
    ['a number for its end', { ...dates, end_date: 20261001 }, ['end_date: must be of type string']],
    ['a date that does not exist', { ...dates, start_date: '2026-02-30' }, [`start_date: ${DATE}`]],
    ['an end that does not exist', { ...dates, end_date: '2026-11-31' }, [`end_date: ${DATE}`]],
    [
      'a period beside dates',
      { ...dates, period: 'yesterday' },
      ['start_date', 'end_date'].map((field) => `${field}: must not be given beside period`),
    ],
    [
      'a period that is none',
      { period: 'tomorrow' },
      ['period: must be yesterday, last_N_days, month_to_date or previous_month'],
    ],
    ['a number for a period', { period: 7 }, ['period: must be of type string']],
    [
      'a period of a day too many',
      { period: 'last_4501_days' },
      ['period: 4501 days are more than the 4500 that one export may span; split it'],
    ],
  ])('is refused with %s', (_, fields, faults) => {
    expect(faultsOf({ ...rest, ...fields })).toEqual(faults);
  });

  it('may be a period of as many days as a range', () => {
    expect(parsed({ ...rest, period: 'last_4500_days' }).request).toMatchObject({
      ...{ start_date: '2014-07-27', end_date: '2026-11-21' },
    });
  });

  it('is of the day that it is in the request’s time zone, when it was scheduled', () => {
    const scheduled = { period: 'yesterday', scheduled_at: '2026-11-20T23:30:00Z' };
    expect(parsed({ ...rest, ...scheduled }).request).toMatchObject({ start_date: '2026-11-19' });
    const berlin = { ...scheduled, time_zone: 'Europe/Berlin' };
    expect(parsed({ ...rest, ...berlin }).request).toMatchObject({ start_date: '2026-11-20' });
    const now = { period: 'yesterday', time_zone: 'America/Los_Angeles' };
    expect(parsed({ ...rest, ...now }).request).toMatchObject({ start_date: '2026-11-19' });
  });

  it('is its dates where it names them', () => {
    expect(rangeOf(dates, new Date())).toEqual(dates);
  });
});

describe('36: a number that reading it has rounded', () => {
  it.each([
    [{ id: 2 ** 53 }, ['options.id: has more digits than a number can hold; write it as a string']],
    [
      { a: [{ b: 1 }, { b: -(2 ** 53) }] },
      ['options.a[1].b: has more digits than a number can hold; write it as a string'],
    ],
    [{ id: 2 ** 53 - 1, share: 0.1, text: '9007199254740993', none: null }, []],
  ])('is refused in options, wherever it stands: %j', (options, faults) => {
    expect(faultsOf({ ...rest, ...dates, options })).toEqual(faults);
  });
});
