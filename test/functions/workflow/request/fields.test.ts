import { describe, expect, it } from 'vitest';
import { faultsOf, parsed, REPORT } from '../../../support/requests.ts';

const dates = { start_date: '2026-10-01', end_date: '2026-11-01' };
const { start_date: _, end_date: __, ...undated } = REPORT;
const NAME = 'must be 1 to 64 of a-z, 0-9, _ and -, and start with a letter or digit';
const DATE = 'must be a date that exists, written YYYY-MM-DD';
const ROUNDED = 'has more digits than a number can hold; write it as a string';
const PERIOD = 'period: must be yesterday, last_N_days, month_to_date or previous_month';
const TIME_ZONE = 'must be an IANA time zone, such as Europe/Berlin';

describe('36: a field of every request', () => {
  const bool = 'only_missing: must be true or false';

  it.each([
    [{ name: 'a'.repeat(65) }, `name: ${NAME}`],
    [{ name: '_a' }, `name: ${NAME}`],
    [{ name: 'ledger' }, 'name: must not be ledger, which is a table of its own'],
    [{ account: 'Acme' }, `account: ${NAME}`],
    [{ account: 7 }, 'account: must be of type string'],
    [{ revision: '2026-13-01' }, `revision: ${DATE}`],
    [{ time_zone: 'Mars/Olympus' }, `time_zone: ${TIME_ZONE}`],
    [{ scheduled_at: '2026-11-21' }, 'scheduled_at: must be an ISO 8601 instant'],
    [{ scheduled_at: '0001-01-01T00:00:00Z' }, 'scheduled_at: must be an ISO 8601 instant'],
    [{ only_missing: 1 }, bool],
    [{ only_missing: '2026-11-21T06:00:00Z' }, bool],
    [{ resumes: { execution: 'e', began_at: 'today' } }, 'resumes.began_at: must be an ISO 8601 instant'],
    [{ options: [] }, 'options: must be of type record'],
    [{ options: { id: 2 ** 53 } }, `options.id: ${ROUNDED}`],
    [{ options: { a: [{ b: 1 }, { b: -(2 ** 53) }] } }, `options.a[1].b: ${ROUNDED}`],
  ])('is refused as %j', (change, fault) => {
    expect(faultsOf({ ...REPORT, ...change })).toEqual([fault]);
  });

  it.each([
    { name: 'a'.repeat(64), time_zone: 'Europe/Berlin', revision: '2026-02-28' },
    { name: '0-_', scheduled_at: '2026-11-21T06:00:00+01:00', only_missing: false },
    { scheduled_at: '2026-11-21T06:00:00.123Z', run: 'daily#2' },
    { resumes: { execution: 'e', began_at: '2026-11-21T06:00:00Z' } },
    { options: { id: 2 ** 53 - 1, share: 0.1, text: '9007199254740993', none: null } },
  ])('is accepted as %j', (change) => {
    expect(faultsOf({ ...REPORT, ...change })).toEqual([]);
  });
});

describe('36: the range of a request', () => {
  const both = (fault: string) => ['start_date', 'end_date'].map((field) => `${field}: ${fault}`);

  it.each<[object, string[]]>([
    [{}, both('is missing (or give a period)')],
    [{ start_date: '2026-10-01' }, ['end_date: is missing (or give a period)']],
    [{ end_date: '2026-10-01' }, ['start_date: is missing (or give a period)']],
    [{ ...dates, start_date: 20261001 }, ['start_date: must be of type string']],
    [{ ...dates, end_date: 20261001 }, ['end_date: must be of type string']],
    [{ ...dates, start_date: '2026-02-30' }, [`start_date: ${DATE}`]],
    [{ ...dates, end_date: '2026-11-31' }, [`end_date: ${DATE}`]],
    [{ ...dates, end_date: '9999-12-31' }, [`end_date: ${DATE}`]],
    [
      { ...dates, end_date: '2026-10-01' },
      ['end_date: is exclusive, so 2026-10-01 to 2026-10-01 has 0 days'],
    ],
    [{ ...dates, end_date: '2026-09-01' }, ['end_date: 2026-09-01 is before start_date 2026-10-01']],
    [{ ...dates, period: 'yesterday' }, both('must not be given with period')],
    [{ period: 'tomorrow' }, [PERIOD]],
    [{ period: 'last_1000_days' }, [PERIOD]],
  ])('is refused as %j', (fields, faults) => {
    expect(faultsOf({ ...undated, ...fields })).toEqual(faults);
  });

  it.each([
    [{ period: 'last_999_days' }, '2024-02-26'],
    [{ period: 'yesterday', scheduled_at: '2026-11-20T23:30:00Z' }, '2026-11-19'],
    [{ period: 'yesterday', scheduled_at: '2026-11-20T23:30:00Z', time_zone: 'Europe/Berlin' }, '2026-11-20'],
    [{ period: 'yesterday', time_zone: 'America/Los_Angeles' }, '2026-11-19'],
    [dates, '2026-10-01'],
  ])('of %j begins on %s', (fields, start_date) => {
    expect(parsed({ ...undated, ...fields }).request).toMatchObject({ start_date });
  });
});
