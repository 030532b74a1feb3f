import { crc32 } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { putPart } from '../../../functions/copy/put-part.ts';
import { ACCOUNT } from '../../../infra/local/s3/server.ts';
import type { Answer } from '../../support/listen.ts';
import { errorOf, refuse, startS3Answers } from '../../support/s3-answers.ts';

const body = Buffer.from('a part of a file');
const part = { number: 7, body, crc32: crc32(body) };
const { signal } = new AbortController();
const STORED = { etag: '"of the part"', 'x-amz-checksum-crc32': base64Crc32(part.crc32) };

const stored: Answer = (_, response) => response.writeHead(200, STORED).end();

/** One PUT after the other; the last answer comes again and again. */
function inTurn(...answers: Answer[]): Answer {
  return (seen, response) => (answers.length > 1 ? answers.shift() : answers[0])?.(seen, response);
}

const slowDown = refuse(503, errorOf('SlowDown'));

test('a part is put with its checksum, and named by the ETag that S3 gives it', async () => {
  const { to, upload, server } = await startS3Answers(stored);
  const put = await putPart(to, upload, part, { signal });
  expect(put).toEqual({ number: 7, bytes: body.length, crc32: part.crc32, etag: '"of the part"' });
  const [seen] = server.requests;
  expect(seen).toMatchObject({
    ...{ method: 'PUT', path: '/exports/report.json?partNumber=7&uploadId=an%20upload' },
    ...{ body: 'a part of a file' },
    headers: { 'content-length': '16', 'x-amz-checksum-crc32': base64Crc32(part.crc32) },
  });
  expect(seen?.headers).not.toHaveProperty('x-amz-expected-bucket-owner');
});

test('the owner of the bucket is named, and signed, where it is known', async () => {
  const { to, upload, server } = await startS3Answers(stored);
  await putPart({ ...to, expectedBucketOwner: ACCOUNT }, upload, part, { signal });
  const headers = server.requests[0]?.headers;
  expect(headers?.['x-amz-expected-bucket-owner']).toBe(ACCOUNT);
  expect(headers?.authorization).toContain('x-amz-expected-bucket-owner');
});

test('35: it is signed by the time that S3 has told, where the clock is off', async () => {
  const ahead = 20 * 60 * 1000;
  const { to, upload, server } = await startS3Answers(stored, { systemClockOffset: ahead });
  const before = Date.now();
  await putPart(to, upload, part, { signal });
  const told = String(server.requests[0]?.headers['x-amz-date']);
  const [, ...numbers] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(told) ?? [];
  const [year = 0, month = 0, ...rest] = numbers.map(Number);
  expect(Date.UTC(year, month - 1, ...rest)).toBeGreaterThanOrEqual(before + ahead - 1000);
});

test('25: each pause before it is sent again is twice as long as the one before', async () => {
  const at: number[] = [];
  const noted: Answer = (seen, response) => {
    at.push(performance.now());
    return (at.length === 5 ? stored : slowDown)(seen, response);
  };
  const { to, upload } = await startS3Answers(noted);
  await putPart(to, upload, part, { signal, pause: 20 });
  const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  expect(pauses).toHaveLength(4);
  // A timer of Node may go off a millisecond early.
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThan(20 * 2 ** index - 2);
});

test('25: it is sent five times, and no more', async () => {
  const { to, upload, server } = await startS3Answers(slowDown);
  await expect(putPart(to, upload, part, { signal, pause: 0 })).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    facts: { aws_error: 'SlowDown', status: 503 },
  });
  expect(server.requests).toHaveLength(5);
});

test('25: a gateway that answers for S3, and not in XML, is met as S3 itself is', async () => {
  const { to, upload, server } = await startS3Answers(
    inTurn(refuse(502, '<html>Bad gateway</html>'), stored),
  );
  await putPart(to, upload, part, { signal, pause: 0 });
  expect(server.requests).toHaveLength(2);
  const always = await startS3Answers(refuse(502));
  await expect(putPart(always.to, always.upload, part, { signal, pause: 0 })).rejects.toMatchObject({
    facts: { aws_error: 'Status502', status: 502 },
  });
});

test.each([
  ['27', 'AccessDenied', 403, 'AccessRefused'],
  ['27', 'NoSuchBucket', 404, 'AccessRefused'],
  ['25', 'NoSuchUpload', 404, 'CopyFailed'],
])('%s: %s is not tried again, and has the id that S3 gave its answer', async (_, code, status, name) => {
  const answer = refuse(status, errorOf(code), { 'x-amz-request-id': 'S3RQ7' });
  const { to, upload, server } = await startS3Answers(answer);
  const facts = name === 'AccessRefused' ? { aws_error: code, aws_request_id: 'S3RQ7' } : { aws_error: code };
  await expect(putPart(to, upload, part, { signal, pause: 0 })).rejects.toMatchObject({ name, facts });
  expect(server.requests).toHaveLength(1);
});

test('26: a checksum that S3 has otherwise is not asked for again here', async () => {
  const { to, upload, server } = await startS3Answers(
    refuse(200, '', { ...STORED, 'x-amz-checksum-crc32': 'AAAAAA==' }),
  );
  await expect(putPart(to, upload, part, { signal, pause: 0 })).rejects.toMatchObject({ name: 'CopyFailed' });
  expect(server.requests).toHaveLength(1);
});

test('26: a part that S3 gives no ETag cannot be joined', async () => {
  const { 'x-amz-checksum-crc32': checksum } = STORED;
  const { to, upload } = await startS3Answers(refuse(200, '', { 'x-amz-checksum-crc32': checksum }));
  await expect(putPart(to, upload, part, { signal, pause: 0 })).rejects.toMatchObject({ name: 'CopyFailed' });
});

test('9: it has a minute for every sign of life', async () => {
  const { to, upload } = await startS3Answers(stored);
  const asked: Dispatcher.DispatchOptions[] = [];
  const dispatcher = to.dispatcher.compose((dispatch) => (options, handler) => {
    asked.push(options);
    return dispatch(options, handler);
  });
  await putPart({ ...to, dispatcher }, upload, part, { signal });
  expect(asked).toMatchObject([{ headersTimeout: 60_000, bodyTimeout: 60_000 }]);
});

test('credentials that cannot be had are not asked for again, and nothing is sent', async () => {
  let asked = 0;
  const credentials = async () => {
    asked += 1;
    throw new Error('no credentials');
  };
  const { to, upload, server } = await startS3Answers(stored, { credentials });
  await expect(putPart(to, upload, part, { signal, pause: 0 })).rejects.toMatchObject({
    name: 'ServiceUnavailable',
  });
  expect([asked, server.requests.length]).toEqual([1, 0]);
});

test.each([
  ['while S3 does not answer', () => {}, 0],
  ['in the pause before it is sent again', slowDown, 1_000_000],
] as const)('a copy that is given up %s ends at once, and sends nothing more', async (_, answer, pause) => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const noted: Answer = (seen, response) => {
    answer(seen, response);
    resolve();
  };
  const { to, upload, server } = await startS3Answers(noted);
  const stopping = new AbortController();
  const put = putPart(to, upload, part, { signal: stopping.signal, pause });
  await asked;
  if (pause > 0) await new Promise((next) => setTimeout(next, 20)); // so that its pause has begun
  stopping.abort(new Error('the time is up'));
  await expect(put).rejects.toThrow(/the time is up|aborted/);
  expect(server.requests).toHaveLength(1);
});
