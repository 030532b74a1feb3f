import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES, parseRequest } from '../../../../functions/workflow/request/request.ts';
import { ADVERTISER, faultsOf, NORMALIZED_REPORT, parsed, REPORT } from '../../../support/requests.ts';

const NOW = new Date('2026-11-21T06:00:00Z');

describe('a request', () => {
  it.each<[object, object]>([
    [{ only_missing: true }, { onlyMissingSince: new Date(0), timeZone: 'UTC' }],
    [{ only_missing: '2026-11-21T06:00:00+01:00' }, { onlyMissingSince: new Date('2026-11-21T05:00:00Z') }],
    [{ only_missing: false }, {}],
  ])('is the same with %j, which only says what to leave out', (fields, missing) => {
    expect(parsed({ ...REPORT, ...fields })).toEqual({
      request: NORMALIZED_REPORT,
      warnings: [],
      ...missing,
    });
  });

  it('keeps its time zone, which says when a day is over and which windows are missing', () => {
    const { request, timeZone } = parsed({ ...REPORT, only_missing: true, time_zone: 'Asia/Tokyo' });
    expect([request, timeZone]).toEqual([{ ...NORMALIZED_REPORT, time_zone: 'Asia/Tokyo' }, 'Asia/Tokyo']);
  });

  it('counts a period from the moment of the schedule, in its time zone', () => {
    const { start_date, end_date, ...rest } = REPORT;
    const yesterday = { ...rest, period: 'yesterday' };
    expect(parsed(yesterday).request).toMatchObject({ start_date: '2026-11-20' });
    const scheduled = { scheduled_at: '2026-11-20T03:00:00Z', time_zone: 'America/New_York' };
    expect(parsed({ ...yesterday, ...scheduled }).request).toMatchObject({
      ...{ start_date: '2026-11-18', end_date: '2026-11-19' },
    });
  });
});

/** An input of this many bytes, filled with this character. */
function inputOf(bytes: number, character: string) {
  const sizeOf = (filter: string) => Buffer.byteLength(JSON.stringify({ ...REPORT, options: { filter } }));
  const room = bytes - sizeOf('');
  const width = Buffer.byteLength(character);
  const filter = character.repeat(Math.floor(room / width)) + 'x'.repeat(room % width);
  return { ...REPORT, options: { filter } };
}

describe('36: a faulty request', () => {
  it.each([
    [{ ...REPORT, name: '' }, 'The request has a fault, and nothing was exported.'],
    [{ ...REPORT, name: '', metric: 1 }, 'The request has 2 faults, and nothing was exported.'],
    [{}, 'The request has 6 faults, and nothing was exported.'],
  ])('is refused with the number of its faults: %#', (input, happened) => {
    const message = expect.stringContaining(happened);
    expect(() => parseRequest(input, NOW)).toThrow(expect.objectContaining({ message }));
  });

  it.each<[string, object, string[]]>([
    [
      'a report',
      { ...REPORT, metrics: 'spend', dimensions: ['conv_integration_os'] },
      ['metrics', 'dimensions[0]'],
    ],
    ['duplicates', { ...REPORT, metrics: ['x', 'x', 7] }, ['metrics[2]', 'metrics']],
    [
      'a purchase query',
      {
        ...{ name: 'purchases', account: 'acme', kind: 'purchases', advertiser_id: 'x', metrics: ['spend'] },
        ...{ start_date: '2026-01-01', end_date: '2025-01-01', options: { start_date: 'x' } },
      },
      ['advertiser_id', 'metrics', 'end_date', 'options.start_date'],
    ],
    [
      'a list',
      {
        ...{ name: 'campaigns', account: 'acme', kind: 'list', resource: 'a/b', limit: 5001, items: '.' },
        ...{ filters: { offset: 1, x: [], id: 1e19 }, advertiser_ids: [] },
      },
      ['resource', 'limit', 'filters.x', 'items', 'advertiser_ids', 'filters.offset', 'filters.id'],
    ],
    [
      'an unknown kind',
      { ...REPORT, kind: 'audience', name: '../x', end_date: '2026-09-01', max_parallel: 99 },
      ['kind', 'name', 'end_date', 'max_parallel'],
    ],
  ])('names every fault of %s at once', (_, input, fields) => {
    const named = faultsOf(input).map((fault) => fault.split(': ')[0]);
    expect(named.sort()).toEqual(fields.sort());
  });

  it.each([
    [
      { metric: 1, dry_run: true },
      ['metric: is not a field of a request (did you mean metrics?)', 'dry_run: is not a field of a request'],
    ],
    [{ startDate: 1 }, ['startDate: is not a field of a request (did you mean start_date?)']],
    [{ start: 1 }, ['start: is not a field of a request (did you mean start_date?)']],
    [{ advertisers: [] }, ['advertisers: is not a field of a request (did you mean advertiser_ids?)']],
    [
      { kind: 'purchases', filters: {}, adverti: [] },
      expect.arrayContaining(['adverti: is not a field of a request (did you mean advertiser_id?)']),
    ],
    [{ ot: 1, colour: 1 }, ['ot: is not a field of a request', 'colour: is not a field of a request']],
    [{ max_parallel: 'four' }, ['max_parallel: must be of type number']],
    [{ max_parallel: 0 }, ['max_parallel: must be at least 1']],
    [{ max_parallel: 41 }, ['max_parallel: must be at most 40']],
    [{ metrics: undefined }, ['metrics: is missing']],
    [{ metrics: ['spend', 7] }, ['metrics[1]: must be of type string']],
  ])('says where each fault is and what is wrong: %j', (change, faults) => {
    expect(faultsOf({ ...REPORT, ...change })).toEqual(faults);
  });

  it.each([[7], ['text'], [null], [[REPORT]], [undefined]])('may be no object: %j', (input) => {
    const faults = [expect.stringMatching(/^the request (must be of type object|is missing)$/)];
    expect(() => parseRequest(input, NOW)).toThrow(expect.objectContaining({ facts: { faults } }));
  });

  it.each(['x', 'é', '€'])('may have more bytes than the state can carry, of "%s"', (character) => {
    expect(faultsOf(inputOf(MAX_REQUEST_BYTES, character))).toEqual([]);
    expect(faultsOf(inputOf(MAX_REQUEST_BYTES + 1, character))).toEqual([
      "the request has 30001 bytes, more than the 30000 that the workflow's state can carry; split it by advertiser",
    ]);
  });

  it('may have options that are nested too deeply', () => {
    const options = JSON.parse(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`);
    const facts = { faults: ['options: is nested too deeply'] };
    expect(() => parseRequest({ ...REPORT, options }, NOW)).toThrow(expect.objectContaining({ facts }));
  });

  it('is not blamed for a fault of the check itself', () => {
    const broken = {
      get kind() {
        throw new TypeError('a fault of ours');
      },
    };
    expect(() => parseRequest(broken, NOW)).toThrow(new TypeError('a fault of ours'));
    expect(() => parseRequest(broken, NOW)).not.toThrow(InvalidInput);
  });
});

it.each([
  ['purchases', { advertiser_id: ADVERTISER, start_date: '2026-01-01', end_date: '2026-10-01' }],
  ['list', { resource: 'campaigns' }],
])('a request for %s has no warnings', (kind, fields) => {
  expect(parsed({ name: 'n', account: 'acme', kind, ...fields }).warnings).toEqual([]);
});
