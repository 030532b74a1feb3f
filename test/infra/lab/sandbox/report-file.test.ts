import { expect, test } from 'vitest';
import { createReportFile } from '../../../../infra/lab/sandbox/reporting/create-report-file.ts';
import type { ReportRequest } from '../../../../infra/lab/sandbox/reporting/report-request.ts';
import type { ReportSettings } from '../../../../infra/lab/sandbox/sandbox-options.ts';

const [FIRST, SECOND] = ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01', '8a2d4c6f-1b3e-4f5a-8d7c-9e0f1a2b3c02'];

const REQUEST: ReportRequest = {
  start_date: '2026-10-01',
  end_date: '2026-10-11',
  advertiser_ids: [FIRST, SECOND],
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name', 'country'],
};

const CHANGING: ReportSettings = {
  restated: { days: 3, everyHours: 6 },
  rowsOn(day, advertiser) {
    if (day === '2026-10-03' || (day === '2026-10-05' && advertiser === FIRST)) return 0;
    return day === '2026-10-06' ? 3 : 100;
  },
};

type Options = ReportSettings & { readonly createdAt?: number };

/** A report created at noon of 8 October. */
function fileOf(
  request: Partial<ReportRequest> = {},
  { createdAt = Date.parse('2026-10-08T12:00:00Z'), ...settings }: Options = {},
  version = 0,
) {
  return createReportFile({ ...REQUEST, ...request }, createdAt, settings, version);
}

function bytesOf(...of: Parameters<typeof fileOf>): Buffer {
  return Buffer.concat([...fileOf(...of).read()]);
}

function rowsOf(...of: Parameters<typeof fileOf>): Record<string, unknown>[] {
  return JSON.parse(bytesOf(...of).toString());
}

/** Rows per day of October. */
function countsOf(...of: Parameters<typeof fileOf>): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { date } of rowsOf(...of)) {
    const day = Number(String(date).slice(-2));
    counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}

test.each([0, 1, 7, 20_000])('%i rows are a JSON array or CSV with the stated rows and length', (rows) => {
  expect(rowsOf({}, { rows })).toHaveLength(rows);
  expect(fileOf({}, { rows }).rows).toBe(rows);
  expect(bytesOf({}, { rows })).toHaveLength(fileOf({}, { rows }).length);
  const csv = bytesOf({ format: 'CSV' }, { rows }).toString();
  expect(csv.split('\n')).toHaveLength(rows + 2);
  expect(csv).toMatch(/^date,advertiser_id,campaign_id,campaign_name,country,spend,impressions\n/);
  expect(Buffer.byteLength(csv)).toBe(fileOf({ format: 'CSV' }, { rows }).length);
});

test('the same request gives the same bytes, and a version gives others', () => {
  const bytes = bytesOf();
  expect(bytesOf({}, { createdAt: Date.parse('2026-10-20') }).equals(bytes)).toBe(true);
  expect(bytesOf({}, {}, 1).equals(bytes)).toBe(false);
  expect(bytesOf({}, {}, 1)).toHaveLength(bytes.length);
  expect(fileOf({}, {}, 1).etag).not.toBe(fileOf().etag);
});

test('a range has the bytes that the whole file has there', () => {
  const file = fileOf({}, { rows: 15_000 });
  const whole = Buffer.concat([...file.read()]);
  const ends = [0, 1, 3, 250, 150_000, 1_700_001, file.length - 13, file.length];
  for (const start of ends)
    for (const end of ends.filter((candidate) => candidate >= start))
      expect(Buffer.concat([...file.read(start, end)]).equals(whole.subarray(start, end))).toBe(true);
});

test.each([
  ['without options', {}],
  ['that are restated, late or empty', CHANGING],
])('days %s are the same in every window and for every set of advertisers', (_, options) => {
  const all = rowsOf({ start_date: '2026-09-20', end_date: '2026-10-20' }, options);
  expect(all.length).toBeGreaterThan(100);
  const window = { start_date: '2026-10-05', end_date: '2026-10-08' };
  const inWindow = all.filter(({ date }) => String(date) >= '2026-10-05' && String(date) < '2026-10-08');
  expect(rowsOf(window, options)).toEqual(inWindow);
  const ofSecond = inWindow.filter(({ advertiser_id }) => advertiser_id === SECOND);
  expect(rowsOf({ ...window, advertiser_ids: [SECOND.toUpperCase()] }, options)).toEqual(ofSecond);
});

test('the metrics of a restated day grow every few hours until some days after its end', () => {
  const day = { end_date: '2026-10-02', dimensions: [] };
  const spendAfter = (hours: number) => {
    const createdAt = Date.parse('2026-10-02T00:00:00Z') + hours * 3_600_000;
    return Number(rowsOf(day, { createdAt, restated: { days: 1, everyHours: 12 } })[0]?.spend);
  };
  const spends = [-1, 0, 12, 24].map(spendAfter);
  expect(spends).toEqual([...new Set(spends)].sort((a, b) => a - b));
  const [before, first, , last] = spends;
  expect(spendAfter(-100)).toBe(before);
  expect(spendAfter(11.9)).toBe(first);
  expect(spendAfter(54)).toBe(last);
});

test('a day has fewer rows or none of its advertiser, and a total is absent if no advertiser has rows', () => {
  const days = { start_date: '2026-10-02', end_date: '2026-10-07' };
  expect(countsOf(days, CHANGING)).toEqual({ 2: 12, 4: 12, 5: 6, 6: 6 });
  expect(countsOf({ ...days, dimensions: [] }, CHANGING)).toEqual({ 2: 1, 4: 1, 5: 1, 6: 1 });
  expect(rowsOf(days, { rowsOn: () => 0, rows: 41 })).toEqual([]);
});
