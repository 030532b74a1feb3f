import { describe, expect, it } from 'vitest';
import { ADVERTISER, faultsOf, NORMALIZED_REPORT, parsed, REPORT } from '../../../support/requests.ts';

function createWords(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `word_${index}`);
}

const BY_CAMPAIGN = { dimensions: ['campaign_id'], metrics: ['spend'], reconcile: true };

describe('a report (contract 2.2)', () => {
  it('gets the defaults for the fields that it leaves out', () => {
    expect(parsed(REPORT)).toStrictEqual({ request: NORMALIZED_REPORT, warnings: [] });
    expect(parsed(NORMALIZED_REPORT)).toStrictEqual({ request: NORMALIZED_REPORT, warnings: [] });
  });

  it('keeps the fields that it has, and any options', () => {
    const fields = {
      dimensions: ['campaign_id'],
      granularity: 'HOUR',
      format: 'csv',
      revision: '2026-05-01',
      options: { attribution_window: { days: 7 }, filters: [{ id: ['a'] }] },
      max_parallel: 40,
      rows: 'data.items',
      accept_empty: true,
    };
    const request = { ...NORMALIZED_REPORT, ...fields };
    expect(parsed({ ...REPORT, ...fields })).toStrictEqual({ request, warnings: [] });
  });

  it('37: refuses old dimensions and names the new ones (contract 9.5)', () => {
    const dimensions = ['conv_integration_id', 'campaign_id', 'conv_integration_os'];
    expect(faultsOf({ ...REPORT, dimensions })).toEqual([
      'dimensions[0]: conv_integration_id is now called event_source_id',
      'dimensions[2]: conv_integration_os is now called event_source_platform',
    ]);
  });

  it('38: accepts dimensions of any name', () => {
    const dimensions = ['constructor', 'toString', 'campaign_id'];
    expect(parsed({ ...REPORT, dimensions }).request).toEqual({ ...NORMALIZED_REPORT, dimensions });
  });

  it('38: warns of undocumented names, and shows ten (contract 2.6)', () => {
    const { warnings } = parsed({ ...REPORT, metrics: createWords(11), dimensions: ['weather'] });
    expect(warnings).toEqual([
      `metrics: not documented, so the platform decides: ${createWords(10).join(', ')} and 1 more`,
      'dimensions: not documented, so the platform decides: weather',
    ]);
  });

  it('warns of a format that nobody reads, before the platform makes the report', () => {
    expect(parsed({ ...REPORT, format: 'XLSX' }).warnings).toEqual([
      'format: nothing here reads XLSX: the files are delivered, but their rows are neither counted nor in a table; JSON and CSV are read',
    ]);
  });

  it.each([
    { metrics: ['spend', 'clicks', 'number_of_likes', 'cart_value'] },
    { dimensions: ['campaign_id', 'event_source_platform', 'country'] },
  ])('38: does not warn of a name that the dictionary has, or a form of it: %j', (change) => {
    expect(parsed({ ...REPORT, ...change }).warnings).toEqual([]);
  });

  it.each([
    [{ metrics: ['spent'] }, 'metrics', 'spent (did you mean spend?)'],
    [{ metrics: ['Spend'] }, 'metrics', 'Spend (did you mean spend?)'],
    [{ metrics: ['impresion'] }, 'metrics', 'impresion (did you mean impressions?)'],
    [{ metrics: ['cpa'] }, 'metrics', 'cpa'],
    [{ metrics: ['speed_of_x'] }, 'metrics', 'speed_of_x'],
  ])('38: asks whether a word of %j is mistyped', (change, field, shown) => {
    expect(parsed({ ...REPORT, ...change }).warnings).toEqual([
      `${field}: not documented, so the platform decides: ${shown}`,
    ]);
  });

  const word = 'must be a word of letters, digits and _.:-';
  it.each<[object, string]>([
    [{ metrics: ['a', 'b', 'A', 'b'] }, 'metrics: must not repeat a, b'],
    [{ dimensions: ['x', 'x', 'x'] }, 'dimensions: must not repeat x'],
    [
      { advertiser_ids: [ADVERTISER, ADVERTISER.toUpperCase()] },
      `advertiser_ids: must not repeat ${ADVERTISER}`,
    ],
    [{ advertiser_ids: ['acme'] }, 'advertiser_ids[0]: must be a UUID'],
    [{ advertiser_ids: [] }, 'advertiser_ids: must not be empty'],
    [{ metrics: [] }, 'metrics: must not be empty'],
    [{ metrics: createWords(101) }, 'metrics: must not have more than 100'],
    [{ metrics: ['a b'] }, `metrics[0]: ${word}`],
    [{ dimensions: ['a'.repeat(101)] }, `dimensions[0]: ${word}`],
    [{ format: 'a'.repeat(17) }, 'format: must be 1 to 16 letters or digits'],
    [{ table: 'daily' }, 'table: must be of type boolean'],
    [{ rows: 'data.' }, 'rows: must be a path, such as data.items'],
    [{ accept_empty: 'yes' }, 'accept_empty: must be of type boolean'],
    [{ reconcile: true }, 'reconcile: needs dimensions; without them, the report is the total'],
    [{ ...BY_CAMPAIGN, granularity: 'WEEK' }, 'reconcile: needs granularity DAY'],
    [{ ...BY_CAMPAIGN, metrics: ['reach', 'x'] }, 'reconcile: no metric is known to add up'],
    [{ reconcile_tolerance: { spend: 0 } }, 'reconcile_tolerance: needs reconcile: true'],
    [
      { ...BY_CAMPAIGN, reconcile_tolerance: { clicks: 0 } },
      'reconcile_tolerance.clicks: is not one of the metrics',
    ],
    [
      { ...BY_CAMPAIGN, metrics: ['spend', 'ctr'], reconcile_tolerance: { ctr: 0 } },
      'reconcile_tolerance.ctr: does not add up, so it is not compared',
    ],
    [
      { ...BY_CAMPAIGN, reconcile_tolerance: { spend: -1 } },
      'reconcile_tolerance.spend: must not be negative',
    ],
    [{ warn_below: 0.5, table: false }, 'warn_below: needs a table'],
    [{ warn_below: 0 }, 'warn_below: must be more than 0 and less than 1'],
    [{ warn_below: 1 }, 'warn_below: must be more than 0 and less than 1'],
    [{ dimension: ['x'] }, 'dimension: is not a field of a request (did you mean dimensions?)'],
    [{ format: '../sh' }, 'format: must be 1 to 16 letters or digits'],
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
    expect(faultsOf({ ...REPORT, ...change })).toEqual([fault]);
  });

  it.each([
    { metrics: createWords(100) },
    { dimensions: ['a'.repeat(100)] },
    { max_parallel: 1 },
    { format: 'jsonl' },
    { format: 'a'.repeat(16) },
    { rows: 'rows' },
    { accept_empty: false },
    { ...BY_CAMPAIGN, metrics: ['x'], reconcile_tolerance: { x: 0 } },
    { warn_below: 0.001 },
    { start_date: '2014-01-01', end_date: '2026-04-28' },
  ])('is accepted at its limits: %j', (change) => {
    expect(parsed({ ...REPORT, ...change }).request).toEqual({ ...NORMALIZED_REPORT, ...change });
  });
});
