import { describe, expect, it } from 'vitest';
import { ADVERTISER, faultsOf, parsed } from '../../../support/requests.ts';

const report = {
  ...{ name: 'daily', account: 'acme', start_date: '2026-10-01', end_date: '2026-11-01' },
  ...{ advertiser_ids: [ADVERTISER], metrics: ['spend'] },
};
const least = {
  ...{ ...report, kind: 'report', granularity: 'DAY', format: 'JSON', options: {}, max_parallel: 8 },
};

function wordsOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `word_${at}`);
}

describe('a report (contract 2.2)', () => {
  it('has no dimensions and no revision of its own unless told', () => {
    expect(parsed(report)).toStrictEqual({ request: least, warnings: [] });
  });

  it('is what it is told to be', () => {
    const told = {
      ...{ dimensions: ['campaign_id'], granularity: 'HOUR', format: 'csv', revision: '2026-05-01' },
      ...{ options: { currency: 'USD' }, max_parallel: 40 },
    };
    expect(parsed({ ...report, ...told })).toStrictEqual({ request: { ...least, ...told }, warnings: [] });
  });

  it('37: is sent with the names of today, each once, where it is to be, and says so (contract 9.5)', () => {
    const dimensions = ['event_source_id', 'conv_integration_id', 'conv_integration_os'];
    expect(parsed({ ...report, dimensions, upgrade_dimensions: true })).toStrictEqual({
      request: { ...least, dimensions: ['event_source_id', 'event_source_platform'] },
      warnings: [
        'dimensions: conv_integration_id was sent as event_source_id, its name today',
        'dimensions: conv_integration_os was sent as event_source_platform, its name today',
      ],
    });
    const current = { dimensions: ['event_source_id'] };
    expect(parsed({ ...report, ...current, upgrade_dimensions: true })).toStrictEqual({
      ...{ request: { ...least, ...current }, warnings: [] },
    });
    expect(parsed({ ...report, upgrade_dimensions: true }).request).toStrictEqual(least);
  });

  it('37: is refused with the names of old unless it is to be upgraded (contract 9.5)', () => {
    const dimensions = ['campaign_id', 'conv_integration_os'];
    const fault =
      'dimensions[1]: conv_integration_os is now called event_source_platform (or set upgrade_dimensions to true)';
    expect(faultsOf({ ...report, dimensions })).toEqual([fault]);
    expect(faultsOf({ ...report, dimensions, upgrade_dimensions: false })).toEqual([fault]);
  });

  it.each([
    [10, ''],
    [11, ' and 1 more'],
    [100, ' and 90 more'],
  ])('38: is warned of ten metrics that are not documented, of %i', (count, more) => {
    const { warnings } = parsed({ ...report, metrics: [...wordsOf(count)] });
    const shown = wordsOf(10).join(', ');
    expect(warnings).toEqual([
      `metrics: not among the documented ones, so that the platform decides: ${shown}${more}`,
    ]);
  });

  it('38: is not warned of what is documented', () => {
    const metrics = ['spend', 'impressions', 'number_of_purchases'];
    const dimensions = ['campaign_id', 'campaign_name', 'event_source_id', 'event_source_platform'];
    expect(parsed({ ...report, metrics, dimensions }).warnings).toEqual([]);
  });

  it.each([
    ['metrics', ['a', 'b', 'A', 'b'], 'metrics: must not repeat a, b'],
    ['dimensions', ['x', 'x', 'x'], 'dimensions: must not repeat x'],
    [
      'advertiser_ids',
      [ADVERTISER, ADVERTISER.toUpperCase()],
      `advertiser_ids: must not repeat ${ADVERTISER}`,
    ],
    ['metrics', [...wordsOf(11), ...wordsOf(11)], `metrics: must not repeat ${wordsOf(10).join(', ')}`],
  ])('36: is refused with repeated %s', (field, list, fault) => {
    expect(faultsOf({ ...report, [field]: list })).toEqual([fault]);
  });

  it.each<[object, string]>([
    [{ metrics: wordsOf(101) }, 'metrics: must not have more than 100'],
    [{ metrics: ['a b'] }, 'metrics[0]: must be a word of letters, digits and _.:-'],
    [{ dimensions: ['a'.repeat(101)] }, 'dimensions[0]: must be a word of letters, digits and _.:-'],
    [{ dimensions: [7] }, 'dimensions[0]: must be of type string'],
    [{ upgrade_dimensions: 'yes' }, 'upgrade_dimensions: must be of type boolean'],
    [{ max_parallel: 41 }, 'max_parallel: must be at most 40'],
    [{ format: 'a'.repeat(17) }, 'format: must be 1 to 16 letters or digits'],
    [
      { start_date: '2014-01-01', end_date: '2026-04-29' },
      'end_date: 4501 days are more than the 4500 that one export may span; split it',
    ],
    ...['start_date', 'end_date', 'advertiser_ids', 'metrics', 'dimensions', 'granularity', 'format'].map(
      (field): [object, string] => [
        { options: { [field]: 1 } },
        `options.${field}: belongs at the top level of the request`,
      ],
    ),
  ])('36: is refused with %j', (change, fault) => {
    expect(faultsOf({ ...report, ...change })).toEqual([fault]);
  });

  it.each([
    { metrics: wordsOf(100) },
    { dimensions: ['a'.repeat(100)] },
    { max_parallel: 1 },
    { format: 'a'.repeat(16) },
    { start_date: '2014-01-01', end_date: '2026-04-28' },
  ])('is taken with as much as there may be: %j', (change) => {
    expect(parsed({ ...report, ...change }).request).toEqual({ ...least, ...change });
  });
});
