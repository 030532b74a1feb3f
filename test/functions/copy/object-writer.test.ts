import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createObjectWriting, ObjectWriter, SETTLE_MS } from '../../../functions/copy/object-writer.ts';
import { awsEnvironment, SETTINGS, setEnvironment, startBucket } from '../../support/lambda.ts';
import type { Answer } from '../../support/listen.ts';
import { refuse, startS3Answers } from '../../support/s3-answers.ts';

afterEach(() => {
  vi.useRealTimers();
});

const KEY = 'exports/items.ndjson';
const LINES = { content_type: 'application/x-ndjson' };
const CREATED = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>';

/** A writer of parts of 10 bytes. @param answerPart answers the upload of a part; default: it is stored */
async function start(answerPart: (number: number, stored: Answer) => Answer = (_, stored) => stored) {
  const sent: [number, string][] = [];
  const { to } = await startS3Answers((seen, response) => {
    const [, number] = /partNumber=(\d+)/.exec(seen.path) ?? [];
    if (number === undefined) return refuse(200, CREATED)(seen, response);
    sent.push([Number(number), seen.body]);
    const checksum = String(seen.headers['x-amz-checksum-crc32']);
    const stored = refuse(200, '', { etag: '"e"', 'x-amz-checksum-crc32': checksum });
    return answerPart(Number(number), stored)(seen, response);
  });
  return { sent, writer: new ObjectWriter({ ...to, partBytes: 10 }, LINES) };
}

test('a chunk may end in a part, at its end, or several parts later', async () => {
  const { writer, sent } = await start();
  for (const text of ['0123456789', 'abcde', 'fghij', '0123456789abcdefghij0123456789xyz'])
    await writer.write(Buffer.from(text));
  const suspended = await writer.suspend();
  expect(suspended).toEqual({ uploadId: 'u1', bytes: 50 });
  const texts = ['0123456789', 'abcdefghij', '0123456789', 'abcdefghij', '0123456789'];
  expect(sent.toSorted(([first], [second]) => first - second)).toEqual(
    texts.map((text, at) => [at + 1, text]),
  );
});

test('the third part waits until the first one is sent', async () => {
  const first = Promise.withResolvers<void>();
  const { writer, sent } = await start((number, stored) => async (seen, response) => {
    if (number === 1) await first.promise;
    await stored(seen, response);
  });
  const writing = writer.write(Buffer.from('0123456789'.repeat(3)));
  await expect.poll(() => sent.length).toBe(2);
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  expect(sent).toHaveLength(2);
  first.resolve();
  await writing;
  await writer.suspend();
  expect(sent).toHaveLength(3);
});

test('after a part failed, every further call fails with its error, and parts behind a gap do not count', async () => {
  const { writer } = await start((number, stored) => (number === 2 ? refuse(403) : stored));
  const writing = writer.write(Buffer.from('0123456789'.repeat(3)));
  await expect(Promise.resolve(writing).then(() => writer.end())).rejects.toMatchObject({
    name: 'AccessRefused',
  });
  expect(() => writer.write(Buffer.from('x'))).toThrow(expect.objectContaining({ name: 'AccessRefused' }));
  expect(await writer.suspend()).toEqual({ uploadId: 'u1', bytes: 10 });
});

test('suspending takes no more bytes, and gives the parts on their way half a minute', async () => {
  const { writer, sent } = await start(() => () => {});
  writer.write(Buffer.from('0123456789'))?.catch(() => {});
  await expect.poll(() => sent.length).toBe(1);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let suspended: unknown = 'waits';
  const suspending = writer.suspend().then((checkpoint) => {
    suspended = checkpoint;
  });
  expect(() => writer.write(Buffer.from('y'))).toThrow(expect.objectContaining({ name: 'CopyFailed' }));
  await vi.advanceTimersByTimeAsync(SETTLE_MS - 1);
  expect(suspended).toBe('waits');
  await vi.advanceTimersByTimeAsync(1);
  await suspending;
  expect(suspended).toBeUndefined();
});

test('an object that a step makes is described, and may be as large as max_download_bytes', async () => {
  const { server } = await startS3Answers(({ headers: { 'x-amz-checksum-crc32': crc32 = '' } }, response) =>
    response.writeHead(200, { 'x-amz-checksum-crc32': crc32 }).end(),
  );
  setEnvironment(awsEnvironment({ S3: server.url }));
  const writeObject = createObjectWriting({ ...SETTINGS, MAX_DOWNLOAD_BYTES: '8' });
  const kind = { ...LINES, content_encoding: 'gzip' };
  const write = (text: string) =>
    writeObject(KEY, kind, async (write) => {
      await write(Buffer.from(text));
      return 1;
    });
  await expect(write('{"a":1}\n\n')).rejects.toThrow(`${KEY} is larger than max_download_bytes (8) allows`);
  expect(server.requests).toHaveLength(0);
  expect(await write('{"a":1}\n')).toStrictEqual({
    key: KEY,
    bytes: 8,
    crc32: 'dOijRg==',
    content_type: 'application/x-ndjson',
    content_encoding: 'gzip',
    rows: 1,
  });
  expect(server.requests).toHaveLength(1);
});

test('an object that a step could not fill leaves no parts', async () => {
  const { s3, writeObject } = await startBucket({ MAX_DOWNLOAD_BYTES: '20000000' });
  const writing = writeObject(KEY, LINES, async (write) => {
    await write(Buffer.alloc(16_800_000));
    throw new Error('no more');
  });
  await expect(writing).rejects.toThrow('no more');
  // The server may note a cancelled part after the end of the upload, and the SDK may repeat a slow call.
  const operations = s3.journal.map(({ operation }) => operation).filter((name) => name !== 'UploadPart');
  expect([...new Set(operations)]).toEqual(['CreateMultipartUpload', 'AbortMultipartUpload']);
});
