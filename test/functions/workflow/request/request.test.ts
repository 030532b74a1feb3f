import { describe, expect, it } from 'vitest';
import {
  MAX_REQUEST_BYTES,
  type ParsedRequest,
  parseRequest,
} from '../../../../functions/workflow/request/request.ts';
import { faultsOf, LIST, NORMALIZED_REPORT, PURCHASES, REPORT } from '../../../support/requests.ts';

const NOW = new Date('2026-11-21T06:00:00Z');

describe('a request', () => {
  const resumes = { execution: 'e', began_at: '2026-11-21T05:00:00Z' };
  it.each<[object, Partial<ParsedRequest['manner']>]>([
    [{ only_missing: true }, { onlyMissing: true }],
    [{ only_missing: false }, {}],
    [{ resumes }, { resumes }],
    [{ run: 'daily#2' }, { run: 'daily#2' }],
    [{ scheduled_at: '2026-11-21T05:00:00Z' }, { scheduledAt: '2026-11-21T05:00:00Z' }],
  ])('is the same with %j, which only says how it is exported', (fields, manner) => {
    const { request, manner: read } = parseRequest({ ...REPORT, ...fields }, new Date());
    expect(request).toEqual(NORMALIZED_REPORT);
    expect(read).toEqual({ onlyMissing: false, ...manner });
  });

  it('keeps its time zone, which says when a day is over', () => {
    const time_zone = 'Asia/Tokyo';
    const { request } = parseRequest({ ...REPORT, only_missing: true, time_zone }, new Date());
    expect(request).toEqual({ ...NORMALIZED_REPORT, time_zone });
  });
});

/** An input of this many bytes: three or more, which a character may take. */
function inputOf(bytes: number) {
  const empty = Buffer.byteLength(JSON.stringify({ ...REPORT, options: { filter: '€' } }));
  return { ...REPORT, options: { filter: `€${'x'.repeat(bytes - empty)}` } };
}

describe('36: a faulty request', () => {
  it.each([
    [{ ...REPORT, name: '' }, 'The request has 1 fault, and nothing was exported.'],
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
      { ...PURCHASES, advertiser_id: 'x', metrics: [], end_date: '2025-01-01', options: { start_date: 'x' } },
      ['advertiser_id', 'metrics', 'end_date', 'options.start_date'],
    ],
    [
      'a list',
      {
        ...LIST,
        resource: 'a/b',
        limit: 5001,
        items: '.',
        filters: { offset: 1, x: [], id: 1e19 },
        advertiser_ids: [],
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
    [{ ot: 1, colour: 1 }, ['ot: is not a field of a request', 'colour: is not a field of a request']],
    [{ max_parallel: 'four' }, ['max_parallel: must be of type number']],
    [{ max_parallel: 0 }, ['max_parallel: must be at least 1']],
    [{ metrics: undefined }, ['metrics: is missing']],
    [{ metrics: ['spend', 7] }, ['metrics[1]: must be of type string']],
  ])('says where each fault is and what is wrong: %j', (change, faults) => {
    expect(faultsOf({ ...REPORT, ...change })).toEqual(faults);
  });

  it.each([[7], ['text'], [null], [[REPORT]], [undefined]])('may be no object: %j', (input) => {
    const faults = [expect.stringMatching(/^the request (must be of type object|is missing)$/)];
    expect(() => parseRequest(input, NOW)).toThrow(expect.objectContaining({ facts: { faults } }));
  });

  it('may have more bytes than the state can carry', () => {
    expect(faultsOf(inputOf(MAX_REQUEST_BYTES))).toEqual([]);
    expect(faultsOf(inputOf(MAX_REQUEST_BYTES + 1))).toEqual([
      "the request has 30001 bytes, more than the 30000 that the workflow's state can carry; split it by advertiser",
    ]);
  });
});
