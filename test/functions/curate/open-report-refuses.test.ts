import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CSV, facts } from './reports.ts';

const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

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
    ['a text instead of CSV', 'Service unavailable\n', { format: 'CSV' }, /single line/],
    ['a number instead of CSV', '503\n', { format: 'CSV' }, /single line/],
    ['a text with commas instead of CSV', '504, Gateway Timeout, spend', { format: 'CSV' }, /single line/],
    ['broken JSON instead of CSV', '{ error', { format: 'CSV' }, /is JSON/],
    ['not JSON', 'date,spend', {}, /not JSON/],
    ['broken JSON', '[{"date":"2026-10-01",,}]', {}, /cannot be read: Malformed JSON, at byte 22/],
    [
      'a row that is cut in a name',
      '[{"date":"2026-10-01"},\n{"date":"2026-10-01","sp]',
      {},
      /unexpected end of data\. It is not a report\.$/m,
    ],
    ['values after the array', '[{"date":"2026-10-01"}] []', {}, /cannot be read/],
    ['rows that are not objects', '[1, 2]', {}, /cannot be read/],
    ['a cut object', '{"rows":[{"date":"2026-10-01"},', {}, /cut off/],
    ['an object cut after a row', '{"rows":[{"date":"2026-10-01","spend":1}', {}, /cut off/],
    [
      'a row after the end of its array',
      `[${JSON.stringify(ROW)}]${JSON.stringify(ROW)}]`,
      {},
      /goes on after/,
    ],
    ['cut gzip without a label', gzipSync(JSON.stringify(ROW)).subarray(0, 40), {}, /labeled as gzip/],
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

const MESSAGE = { type: 'internal_error', message: 'x', status: 500, campaign_id: 'a' };
const ENDED = { error: { type: 'timeout' } };

describe.each<[string, object]>([
  ['with', {}],
  ['without', { schema: undefined }],
])('%s a table, a document of something else is refused', (_, given) => {
  it.each<[string, unknown, RegExp]>([
    [
      'an error',
      { error: { type: 'internal_error', detail: { validation: [{ field: 'spend' }] } } },
      /error/,
    ],
    ['an error with a field of the request', { ...ENDED, campaign_id: 'a' }, /an error document/],
    ['an error with the name of a metric', { ...ENDED, fields: { spend: 'unknown' } }, /an error document/],
    ['a message', { message: 'try again' }, /failed or is not ready: it has "message"/],
    ['a message with a field of the request', MESSAGE, /failed or is not ready/],
    ['a list of messages', [MESSAGE], /a failure instead of a row/],
    ['a list of errors', { errors: [{ code: 1, message: 'no' }] }, /an error document/],
    ['a failure instead of rows', { results: [{ error: 'x' }] }, /a failure instead of a row/],
    ['an error beside no rows', { error: 'too busy', rows: [] }, /error document/],
    ['errors beside rows', { errors: ['half of it'], rows: [ROW] }, /error document/],
    ['a reason beside no rows', { status: 'FAILED', reason: 'timeout', rows: [] }, /failed or is not ready/],
    ['a status beside no details', { status: 500, details: [] }, /failed or is not ready/],
    ['a status beside no rows', { data: { status: 'PROCESSING', items: [] } }, /failed or is not ready/],
    ['no success beside no rows', { success: false, data: [] }, /failed or is not ready/],
    ['a message beside no errors', { message: 'Report expired', errors: [] }, /failed or is not ready/],
    ['a message beside null', { message: 'Report expired', rows: null }, /failed or is not ready/],
    ['no errors', { errors: [] }, /none of the requested metrics, but "errors"/],
    ['an empty object', {}, /none of the requested metrics, but no fields/],
    ['other fields', { id: 1, next: null }, /none of the requested metrics, but "id", "next"/],
    ['two arrays of rows', { total: [ROW], rows: [ROW] }, /several arrays/],
    ['two arrays of rows in an object', { data: { rows: [ROW], more: [ROW] } }, /several arrays/],
    ['two arrays of other rows', { a: [{ x: 1 }], b: [{ x: 1 }] }, /several arrays/],
    ['rows that end with a failure', [ROW, ENDED], /a failure instead of a row/],
  ])('%s', async (_, body, message) => {
    for (const text of [JSON.stringify(body), JSON.stringify(body, null, 2)]) {
      await expect(facts(text, given)).rejects.toMatchObject({
        name: 'DownloadRefused',
        message: expect.stringMatching(message),
      });
    }
  });

  it.each([
    ['that are failures', [ENDED, ENDED]],
    ['of which the last is a failure', [ROW, ROW, ENDED]],
  ])('lines %s', async (_, rows) => {
    const text = rows.map((row) => JSON.stringify(row)).join('\n');
    await expect(facts(text, given)).rejects.toThrow('a failure instead of a row');
  });
});
