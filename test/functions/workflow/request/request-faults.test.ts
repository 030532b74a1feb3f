import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES, parseRequest } from '../../../../functions/workflow/request/request.ts';
import { ADVERTISER, faultsOf, parsed } from '../../../support/requests.ts';

const NOW = new Date('2026-11-21T06:00:00Z');
const report = {
  ...{ name: 'daily', account: 'acme', start_date: '2026-10-01', end_date: '2026-11-01' },
  ...{ advertiser_ids: [ADVERTISER], metrics: ['spend'] },
};

/** A request of this many bytes as JSON in UTF-8, most of them these characters. */
function requestOf(bytes: number, character: string) {
  const sizeOf = (filter: string) => Buffer.byteLength(JSON.stringify({ ...report, options: { filter } }));
  const left = bytes - sizeOf('');
  const wide = Math.floor(left / Buffer.byteLength(character));
  const filter = character.repeat(wide) + 'x'.repeat(left - wide * Buffer.byteLength(character));
  return { ...report, options: { filter } };
}

describe('36: a faulty request', () => {
  it.each([
    [{ ...report, name: '' }, 'The request has a fault, and nothing was exported.'],
    [{ ...report, name: '', metric: 1 }, 'The request has 2 faults, and nothing was exported.'],
    [{}, 'The request has 6 faults, and nothing was exported.'],
  ])('has its faults counted: %#', (input, happened) => {
    expect(() => parseRequest(input, NOW)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(happened) }),
    );
  });

  it.each([
    ['another field', { metric: 1, dry_run: true }, ['metric', 'dry_run'], 'is not a field of a request'],
    ['a field of another type', { max_parallel: 'four' }, ['max_parallel'], 'must be of type number'],
    ['a field that is too small', { max_parallel: 0 }, ['max_parallel'], 'must be at least 1'],
    ['a field that is too large', { max_parallel: 41 }, ['max_parallel'], 'must be at most 40'],
    ['a missing field', { metrics: undefined }, ['metrics'], 'is missing'],
    ['an item of another type', { metrics: ['spend', 7] }, ['metrics[1]'], 'must be of type string'],
  ])('has %s named, where it stands, and what is wrong with it', (_, change, fields, fault) => {
    expect(faultsOf({ ...report, ...change })).toEqual(fields.map((field) => `${field}: ${fault}`));
  });

  it.each([[7], ['text'], [null], [[report]], [undefined]])('is anything but an object: %j', (input) => {
    expect(() => parseRequest(input, NOW)).toThrow(
      expect.objectContaining({
        facts: { faults: [expect.stringMatching(/^the request (must be|is missing)/)] },
      }),
    );
  });

  it.each([
    'x',
    'é',
    '€',
  ])('has more bytes than the state can carry, and not as many, of "%s"', (character) => {
    expect(faultsOf(requestOf(MAX_REQUEST_BYTES, character))).toEqual([]);
    expect(faultsOf(requestOf(MAX_REQUEST_BYTES + 1, character))).toEqual([
      "the request has 30001 bytes, more than the 30000 that the workflow's state can carry; split it by advertiser",
    ]);
  });

  it('says no more of options that are nested too deeply to be read', () => {
    const options = JSON.parse(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`);
    expect(() => parseRequest({ ...report, options }, NOW)).toThrow(
      expect.objectContaining({ facts: { faults: ['options: is nested too deeply'] } }),
    );
  });

  it('is not what is at fault where the check itself fails', () => {
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
