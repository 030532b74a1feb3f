import { describe, expect, it } from 'vitest';
import { commonWorkflow, keysOf, type Outcome, runExport } from '../../support/run-export.ts';

const workflow = await commonWorkflow();

const ROW = { date: '2026-10-01', campaign_id: 'c1', spend: 1.5, impressions: 3 };
const FIELDS = { dimensions: ['campaign_id'], metrics: ['spend', 'impressions'] };

/** A report with a good row, and one with these fields. */
function withRow(fields: object): string {
  return JSON.stringify([ROW, { ...ROW, date: '2026-10-02', ...fields }]);
}

/** The text of such a row as it is, for what JSON.stringify would not write. */
function withText(fields: string): string {
  return `[${JSON.stringify(ROW)},{"date":"2026-10-02","campaign_id":"c2",${fields}}]`;
}

let runs = 0;

/** Delivers this file as a report of one week. */
async function deliver(body: string) {
  const name = `bad-${++runs}`;
  const outcome = await runExport(workflow, {
    request: { name, ...FIELDS },
    faults: [{ on: 'storage', times: 99, body }],
  });
  const days = (await workflow.keys()).filter((key) => key.startsWith(`tables/${name}/`)).length;
  const failed = (await keysOf(workflow, name)).some((key) => key.endsWith('_failure.json'));
  return { ...outcome, days, failed };
}

function warningsOf({ output }: Outcome): readonly string[] {
  return (output as { warnings: string[] }).warnings;
}

describe('23: a file that is not a report of the window fails it', () => {
  it.each([
    ['is cut after a comma', '[{"date":"2026-10-01","spend":1},'],
    ['is empty', ''],
    ['is a page', '<html></html>'],
    ['goes on after its end', '[]]'],
    ['closes another bracket', '[{"spend":1]'],
    ['is an error', '{"error":{"type":"internal_error"}}'],
    ['is an error with a field of the request', '{"error":{"type":"internal_error"},"campaign_id":"c1"}'],
    ['is a failure without rows', '{"status":"FAILED","reason":"timeout","rows":[]}'],
    ['has a date outside of the window', withRow({ date: '2026-10-08' })],
  ])('if it %s', async (_, body) => {
    const { status, error, manifest, days, failed } = await deliver(body);
    expect([status, error, manifest, days, failed]).toEqual([
      'FAILED',
      'DownloadRefused',
      undefined,
      0,
      true,
    ]);
  });
});

it('23: a date before the window is a warning if the granularity is a week', async () => {
  const daily = await deliver('[]');
  // The sandbox has reports of days only.
  const record = JSON.stringify({ id: daily.reports[0]?.id, status: 'CREATED' });
  const faults = [
    { on: 'create', status: 201, body: record } as const,
    { on: 'storage', body: withRow({ date: '2026-09-28' }) } as const,
  ];
  const request = { name: 'weekly', ...FIELDS, granularity: 'WEEK' };
  const { status, manifest } = await runExport(workflow, { request, faults });
  expect(status).toBe('SUCCEEDED');
  expect(manifest).toMatchObject({
    first_date: '2026-09-28',
    warnings: [expect.stringMatching(/2026-09-28, which is outside the window/)],
  });
});

describe('a file that the table cannot take is delivered all the same', () => {
  it.each([
    ['a text as a metric', withRow({ spend: 'much' }), /row 2 has "much" in the column spend/],
    ['3.7 as a count', withRow({ impressions: 3.7 }), /row 2 has "3\.7" in the column impressions/],
    [
      'seven decimals of money',
      withText('"spend":0.1234567,"impressions":1'),
      /row 2 has "0\.1234567" in the column spend/,
    ],
    [
      'a timestamp as a date',
      withRow({ date: '2026-10-02T03:04:05Z' }),
      /row 2 has "2026-10-02T03:04:05Z" in the column date/,
    ],
    [
      'no column of a metric',
      JSON.stringify([{ date: '2026-10-01', spend: 1, campaign_id: 'c' }]),
      /impressions/,
    ],
    ['Spend next to spend', withRow({ Spend: 2 }), /spend/i],
    ['a nested value', withRow({ spend: { value: 1 } }), /row 2 has .* in the column spend/],
    ['display names', '[{"Day":"2026-10-01","Spend (USD)":5}]', /no row has "date"/],
  ])('with %s', async (_, body, warning) => {
    const { status, manifest, days, ...outcome } = await deliver(body);
    expect([status, days]).toEqual(['SUCCEEDED', 0]);
    expect(warningsOf({ ...outcome, status, manifest })[0]).toMatch(warning);
    expect(manifest).not.toHaveProperty('table');
  });
});

describe('a file is accepted', () => {
  it.each<[string, string, object]>([
    [
      'with an id above 2^53',
      withText('"spend":1,"impressions":9007199254740993'),
      { impressions: '9007199254740996' },
    ],
    ['with null and absent fields', withRow({ spend: null, campaign_id: undefined }), { spend: '1.5' }],
    [
      'with emoji and lone surrogates',
      withText('"spend":1,"impressions":1,"campaign_id":"😀 \\ud83d"').replace('"campaign_id":"c2",', ''),
      { spend: '2.5' },
    ],
    ['without rows', '[]', {}],
  ])('%s', async (_, body, sums) => {
    const { status, manifest, days, ...outcome } = await deliver(body);
    expect(warningsOf({ ...outcome, status, manifest })).toEqual([]);
    expect([status, days]).toEqual(['SUCCEEDED', 7]);
    expect(manifest?.sums ?? {}).toMatchObject(sums);
  });

  it.each([
    ['an unknown field', withRow({ reach: 7 }), /reach/],
    ['duplicate rows for one day and set of dimensions', JSON.stringify([ROW, ROW]), /row/],
  ])('with a warning if it has %s', async (_, body, warning) => {
    const { days, ...outcome } = await deliver(body);
    expect(warningsOf(outcome)).toEqual([expect.stringMatching(warning)]);
    expect(days).toBe(7);
  });
});
