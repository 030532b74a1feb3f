import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { facts } from './reports.ts';

const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

const CSV = `date,campaign_id,spend,impressions
2026-10-01,b,0.1,3
2026-10-01,a,0.2,4
2026-10-03,a,12.345678,5
`;

describe('a file that is not a report is refused', () => {
  it.each<[string, string | Buffer, object, RegExp]>([
    ['cut after a comma', '[{"date":"2026-10-01"},', {}, /cut off/],
    ['cut in a row', '[{"date":"2026-10-01"},{"date":"2026-1', {}, /cut off/],
    ['NDJSON cut in a row', `${JSON.stringify(ROW)}\n{"date":`, {}, /cut off/],
    ['empty', '', {}, /is empty/],
    ['blank', ' \n', {}, /is empty/],
    ['empty CSV', '', { format: 'CSV' }, /is empty/],
    ['HTML', '<!DOCTYPE html><html></html>', {}, /HTML or XML/],
    ['HTML instead of CSV', '\n<html><body>sorry, later</body></html>', { format: 'CSV' }, /HTML or XML/],
    ['XML instead of CSV', '<Error><Code>SlowDown</Code></Error>', { format: 'CSV' }, /HTML or XML/],
    ['JSON instead of CSV', ' [{"date":"2026-10-01"}]', { format: 'CSV' }, /is JSON/],
    ['a text instead of CSV', 'Service unavailable\n', { format: 'CSV' }, /first line/],
    ['not JSON', 'date,spend', {}, /not JSON/],
    ['broken JSON', '[{"date":"2026-10-01",,}]', {}, /cannot be read: Malformed JSON, at byte 22/],
    ['values after the array', '[{"date":"2026-10-01"}] []', {}, /cannot be read/],
    ['rows that are not objects', '[1, 2]', {}, /cannot be read/],
    ['a cut object', '{"rows":[{"date":"2026-10-01"},', {}, /a single array/],
    [
      'a CSV row with a field too many',
      `${CSV}2026-10-03,a,1,2,3\n`,
      { format: 'CSV' },
      /Line: 5 Expected .* 4 Found: 5/,
    ],
    ['a cut CSV row', `${CSV}2026-10-0`, { format: 'CSV' }, /cannot be read/],
    ['an unclosed quote in CSV', `${CSV}2026-10-03,"a,1,2\n`, { format: 'CSV' }, /cannot be read/],
    ['bytes that are not UTF-8', Buffer.from('[{"campaign_id":"\xff"}]', 'latin1'), {}, /UTF-8/],
    ['a label of gzip on plain JSON', '[]', { content_encoding: 'gzip' }, /labeled as gzip/],
    [
      'cut gzip',
      gzipSync(JSON.stringify(ROW)).subarray(0, 40),
      { content_encoding: 'gzip' },
      /labeled as gzip/,
    ],
    ['a date before the window', '[{"date":"2026-09-30"}]', {}, /Row 1 .* 2026-09-30, which is outside/],
    ['the end of the window', `${CSV}2026-10-04,a,1,2\n`, { format: 'CSV' }, /Row 4 .* 2026-10-04/],
    [
      'a date outside the window, without a table',
      '[{"date":"2026-10-04"}]',
      { schema: undefined },
      /outside/,
    ],
  ])('%s', async (_, body, given, message) => {
    await expect(facts(body, given)).rejects.toMatchObject({
      name: 'DownloadRefused',
      message: expect.stringMatching(message),
    });
  });
});

const ERROR = { error: { type: 'internal_error', detail: { validation: [{ field: 'spend' }] } } };

describe.each<[string, object]>([
  ['with', {}],
  ['without', { schema: undefined }],
])('%s a table, a document of something else is refused', (_, given) => {
  it.each<[string, unknown, RegExp]>([
    ['an error', ERROR, /none of the requested fields, but "error"/],
    ['a message', { message: 'try again' }, /none of the requested fields, but "message"/],
    ['a list of errors', { errors: [{ code: 1, message: 'no' }] }, /none of .* but "code", "message"/],
    ['an error beside no rows', { error: 'too busy', rows: [] }, /error document/],
    ['errors beside rows', { errors: ['half of it'], rows: [ROW] }, /error document/],
    ['other rows', [{ id: 1, name: 'x' }], /none of the requested fields, but "id", "name"/],
    ['two arrays of rows', { total: [ROW], rows: [ROW] }, /several arrays/],
    ['two arrays of rows in an object', { data: { rows: [ROW], more: [ROW] } }, /several arrays/],
    ['a row with an empty array', { ...ROW, tags: [] }, /a row or an object around an empty array/],
  ])('%s', async (_, body, message) => {
    for (const text of [JSON.stringify(body), JSON.stringify(body, null, 2)]) {
      await expect(facts(text, given)).rejects.toMatchObject({
        name: 'DownloadRefused',
        message: expect.stringMatching(message),
      });
    }
  });
});
