import { expect, test } from 'vitest';
import type { ReportRequest } from '../../../infra/sandbox/reporting/report-request.ts';
import { createReportFile, type FileOptions } from '../../../infra/sandbox/reporting/rows.ts';

const REQUEST: ReportRequest = {
  start_date: '2026-10-01',
  end_date: '2026-10-11',
  advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01', '8a2d4c6f-1b3e-4f5a-8d7c-9e0f1a2b3c02'],
  metrics: ['spend', 'impressions', 'number_of_purchases'],
  dimensions: ['campaign_id', 'campaign_name', 'event_source_platform'],
};

const CSV = { format: 'CSV' };

const CREATED_AT = Date.parse('2026-10-12T06:00:00Z');

type Changes = { request?: Partial<ReportRequest>; version?: number } & Partial<FileOptions>;

function fileOf({ request = {}, version, ...options }: Changes = {}) {
  return createReportFile({ ...REQUEST, ...request }, { createdAt: CREATED_AT, ...options }, version);
}

function bytesOf(changes: Changes = {}): Buffer {
  return Buffer.concat([...fileOf(changes).read()]);
}

function rowsOf(changes: Changes = {}): Record<string, unknown>[] {
  return JSON.parse(bytesOf(changes).toString());
}

test.each([
  0, 1, 2, 7, 20, 2000, 12_345,
])('a file of %i rows is a JSON array of that many rows and has the stated length', (rows) => {
  expect(rowsOf({ rows })).toHaveLength(rows);
  expect(bytesOf({ rows })).toHaveLength(fileOf({ rows }).length);
});

test('a file without rows is [], or the header of CSV', () => {
  expect(bytesOf({ rows: 0 }).toString()).toBe('[]');
  expect(bytesOf({ rows: 0, request: { ...CSV, dimensions: [] } }).toString()).toBe(
    'date,spend,impressions,number_of_purchases\n',
  );
});

test.each([1, 7, 2000])('CSV of %i rows has the rows of the JSON, and the stated length', (rows) => {
  const text = bytesOf({ rows, request: CSV }).toString();
  expect(Buffer.byteLength(text)).toBe(fileOf({ rows, request: CSV }).length);
  const [names = [], ...values] = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const plain = (value: string) => value.replace(/^"(.*)"$/, '$1').replaceAll('""', '"');
  const parsed = values.map((row) =>
    Object.fromEntries(names.map((name, at) => [name, plain(row[at] ?? '')])),
  );
  const expected = rowsOf({ rows }).map((row) => Object.entries(row));
  const typed = parsed.map((row) =>
    Object.entries(row).map(([name, value]) => [
      name,
      REQUEST.metrics.includes(name) ? Number(value) : value,
    ]),
  );
  expect(typed).toEqual(expected);
});

test.each([
  0, 1, 2, 3, 500, 100_003,
])('a file of %i bytes has that size (at least 2) and is JSON', (bytes) => {
  expect(bytesOf({ bytes })).toHaveLength(Math.max(2, bytes));
  expect(rowsOf({ bytes })).toBeInstanceOf(Array);
});

test('a row has the date, the advertiser, and the requested dimensions and metrics', () => {
  expect(rowsOf()[0]).toEqual({
    date: '2026-10-01',
    advertiser_id: REQUEST.advertiser_ids[0],
    campaign_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    campaign_name: expect.any(String),
    event_source_platform: 'ios',
    spend: expect.any(Number),
    impressions: expect.any(Number),
    number_of_purchases: expect.any(Number),
  });
});

test.each([120, 997, 10_000])('%i rows are all different, sorted by date, and cover every date', (rows) => {
  const all = rowsOf({ rows });
  const keys = all.map((row) =>
    [row.date, row.advertiser_id, row.campaign_id, row.event_source_platform].join(),
  );
  expect(new Set(keys).size).toBe(rows);
  const dates = all.map(({ date }) => String(date));
  expect(dates).toEqual([...dates].sort());
  expect(new Set(dates).size).toBe(10);
  const firstOfDay = all.filter((_, index) => dates[index] !== dates[index - 1]);
  for (const { campaign_id, event_source_platform } of firstOfDay) {
    expect(campaign_id).toMatch(/-0{12}$/);
    expect(event_source_platform).toBe('ios');
  }
});

test('without dimensions there is one total per date (contract 2.2)', () => {
  const rows = rowsOf({ request: { dimensions: [] } });
  expect(rows).toHaveLength(10);
  expect(Object.keys(rows[9] ?? {})).toEqual(['date', ...REQUEST.metrics]);
  expect(rows[9]?.date).toBe('2026-10-10');
});

test('the same request gives the same bytes; another request or version gives others', () => {
  const bytes = bytesOf();
  expect(bytesOf().equals(bytes)).toBe(true);
  expect(bytesOf({ version: 1 }).equals(bytes)).toBe(false);
  expect(bytesOf({ createdAt: CREATED_AT + 1e9 }).equals(bytes)).toBe(true);
  expect(bytesOf({ request: { end_date: '2026-10-12' } }).equals(bytes)).toBe(false);
  expect(fileOf({ version: 1 }).etag).not.toBe(fileOf().etag);
});

test('a range has the bytes that the whole file has there', () => {
  const file = fileOf({ bytes: 1_000_003 });
  const whole = bytesOf({ bytes: 1_000_003 });
  const ends = [0, 1, 2, 3, 250, 262_143, 262_144, 300_000, 700_001, 999_990, 1_000_002, 1_000_003];
  for (const start of ends) {
    for (const end of ends.filter((each) => each >= start)) {
      const part = Buffer.concat([...file.read(start, end)]);
      expect(part.equals(whole.subarray(start, end)), `${start} to ${end}`).toBe(true);
    }
  }
});

test('reading the end of a file of 8 GB does not compute the whole file', () => {
  const end = Buffer.concat([...fileOf({ bytes: 8e9 }).read(8e9 - 1000)]).toString();
  expect(end).toMatch(/\}\n\]\n*$/);
});
