import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createObjectStore, type ObjectStore } from '../../../functions/aws/objects.ts';
import { base64Crc32 } from '../../../functions/aws/s3.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../infra/lab/local/s3/server.ts';
import { awsEnvironment, setEnvironment, shortenTimeouts, startBucket } from '../../support/lambda.ts';
import { type Answer, type Listening, listen, listenTcp, startServer } from '../../support/listen.ts';
import { BUCKET } from '../../support/s3.ts';
import { errorOf } from '../../support/s3-answers.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const KEY = 'exports/account=acme/_manifest.json';
const PATH = `/${BUCKET}/exports/account%3Dacme/_manifest.json`;

/** A store on a local bucket that refuses calls without the expected owner. */
async function startStore() {
  const { s3 } = await startBucket();
  const put = (Body: string) =>
    s3.client.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        Key: KEY,
        ExpectedBucketOwner: LOCAL_AWS_ACCOUNT,
        Body,
        ContentLength: Buffer.byteLength(Body),
      }),
    );
  return { s3, put, store: createObjectStore({ BUCKET, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }) };
}

/** A store on a server with these answers, and the requests that it got. */
async function serve(answer: Answer) {
  const server = await listen(answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ S3: server.url }));
  return { requests: server.requests, store: createObjectStore({ BUCKET, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }) };
}

describe('the bucket', () => {
  it('gets JSON with a trailing line break, its type, its checksum and the expected owner', async () => {
    const { store, requests } = await serve((_, response) => response.end());
    await store.putJson(KEY, { version: '1', rows: [1, 'é'] });
    const body = '{\n  "version": "1",\n  "rows": [\n    1,\n    "é"\n  ]\n}\n';
    expect(requests.map(({ method, path, body }) => ({ method, path, body }))).toEqual([
      { method: 'PUT', path: `${PATH}?x-id=PutObject`, body },
    ]);
    expect(requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'x-amz-expected-bucket-owner': LOCAL_AWS_ACCOUNT,
      'x-amz-checksum-crc32': base64Crc32(crc32(body)),
    });
  });

  it('gives the version of a file that is asked for', async () => {
    const { store, requests } = await serve((_seen, response) => response.end());
    await store.getFile(KEY, join(temporaryDirectory(), 'file'), AbortSignal.timeout(60_000), 'v7');
    expect(requests).toMatchObject([{ method: 'GET', path: expect.stringContaining('versionId=v7') }]);
  });

  it.each(['é', ''])('has the text and the checksum of an object until it is removed: "%s"', async (text) => {
    const { store, put } = await startStore();
    await put(text);
    expect(await store.getText(KEY)).toBe(text);
    expect(await store.head(KEY)).toEqual({ crc32: base64Crc32(crc32(text)) });
    await store.remove(KEY);
    expect(await store.getText(KEY)).toBeUndefined();
  });

  it('returns the version in a versioned bucket', async () => {
    const { store } = await serve((_, response) =>
      response.writeHead(200, { 'x-amz-checksum-crc32': 'c', 'x-amz-version-id': 'v1' }).end(),
    );
    expect(await store.head(KEY)).toEqual({ crc32: 'c', version_id: 'v1' });
  });

  it('returns undefined for a missing object, and removes it without an error', async () => {
    const { store, s3 } = await startStore();
    expect(await store.getText(KEY)).toBeUndefined();
    expect(await store.head(KEY)).toBeUndefined();
    await store.remove(KEY);
    expect(s3.journal.map(({ operation, status }) => [operation, status])).toEqual([
      ['GetObject', 404],
      ['HeadObject', 404],
      ['DeleteObject', 204],
    ]);
  });
});

describe('a file of this disk', () => {
  const TABLE = 'tables/daily/acme.2026-10.parquet';
  const { signal } = new AbortController();

  /** @returns the path of a file with these bytes */
  async function createFile(bytes: string | Buffer): Promise<string> {
    const path = join(temporaryDirectory(), 'file');
    await writeFile(path, bytes);
    return path;
  }

  it('creates an object, replaces the one of its ETag, and leaves any other', async () => {
    const { store } = await startStore();
    const [first, second] = [await createFile('first'), await createFile('second')];
    const copy = await createFile('');
    expect(await store.getFile(TABLE, copy, signal)).toBeUndefined();
    expect(await store.putFile(TABLE, first, undefined)).toBe(true);
    const { etag = '', crc32: checksum } = (await store.getFile(TABLE, copy, signal)) ?? {};
    expect(checksum).toBe(base64Crc32(crc32('first')));
    expect(await readFile(copy, 'utf8')).toBe('first');
    expect(await store.putFile(TABLE, second, undefined)).toBe(false);
    expect(await store.putFile(TABLE, second, etag)).toBe(true);
    expect(await store.putFile(TABLE, first, etag)).toBe(false);
    expect(await store.getText(TABLE)).toBe('second');
    await store.remove(TABLE);
    expect(await store.putFile(TABLE, first, etag)).toBe(false);
  });

  it.each([5, 9 * 1024 * 1024])('is sent with its type and its checksum: %d bytes', async (size) => {
    const { store, requests } = await serve((_, response) => response.end());
    const bytes = Buffer.alloc(size, 'a');
    expect(await store.putFile(TABLE, await createFile(bytes), '"e"')).toBe(true);
    expect(requests[0]?.headers).toMatchObject({
      'content-type': 'application/vnd.apache.parquet',
      'if-match': '"e"',
      'x-amz-expected-bucket-owner': LOCAL_AWS_ACCOUNT,
      'x-amz-checksum-crc32': base64Crc32(crc32(bytes)),
    });
  });

  it('57: may take longer than any other call, but fails if it stalls', async () => {
    const path = await createFile(Buffer.alloc(9 * 1024 * 1024));
    const putTo = ({ url }: Listening, socketTimeout: number) => {
      setEnvironment(awsEnvironment({ S3: url }));
      const requestHandler = { requestTimeout: 1, throwOnRequestTimeout: true, socketTimeout };
      const store = createObjectStore({ BUCKET, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }, { requestHandler });
      return store.putFile(TABLE, path, undefined);
    };
    await using slow = await listen((_, response) => response.end());
    await using stalled = await listenTcp(() => {});
    expect(await putTo(slow, 60_000)).toBe(true);
    await expect(putTo(stalled, 100)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
  });

  it.each([
    ['PreconditionFailed', 412, false],
    ['AccessDenied', 403, 'AccessRefused'],
  ])('27, 43: is not sent if S3 answers %s before it reads the file', async (code, status, outcome) => {
    const http = createServer((_, { socket }) => socket?.resetAndDestroy());
    http.on('checkContinue', (_, response) => response.writeHead(status).end(errorOf(code)));
    await using server = await startServer(http);
    setEnvironment(awsEnvironment({ S3: server.url }));
    const store = createObjectStore({ BUCKET, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }, { maxAttempts: 1 });
    for (const size of [100_000, 9 * 1024 * 1024]) {
      const putting = store.putFile(TABLE, await createFile(Buffer.alloc(size)), undefined);
      expect(await putting.catch(({ name }) => name)).toBe(outcome);
    }
  });
});

it.each([
  [4, 'tail'],
  [99, 'head and tail'],
])('reads the last %d bytes of an object, and its size', async (length, end) => {
  const { store, put } = await startStore();
  expect(await store.readEnd(KEY, length)).toBeUndefined();
  await put('head and tail');
  expect(await store.readEnd(KEY, length)).toEqual({ bytes: Buffer.from(end), size: 13 });
});

it('reads no bytes of an empty object, whose end S3 refuses to send', async () => {
  const { store, s3 } = await startStore();
  s3.faults.push({ operation: 'GetObject', answer: 'InvalidRange' });
  expect(await store.readEnd(KEY, 4)).toEqual({ bytes: Buffer.alloc(0), size: 0 });
});

const READ = 's3:GetObject and s3:ListBucket';
type Operation = 'PutObject' | 'GetObject' | 'HeadObject' | 'DeleteObject';
const CALLS: readonly [Operation, string, string, (store: ObjectStore) => Promise<unknown>][] = [
  ['PutObject', `write ${KEY} to`, 's3:PutObject', (store) => store.putJson(KEY, {})],
  ['GetObject', `read ${KEY} of`, READ, (store) => store.getText(KEY)],
  ['HeadObject', `look at ${KEY} of`, READ, (store) => store.head(KEY)],
  ['DeleteObject', `remove ${KEY} from`, 's3:DeleteObject', (store) => store.remove(KEY)],
];

describe.each(CALLS)('%s', (operation, doing, permission, call) => {
  it('27: names the missing permission', async () => {
    const { store, s3 } = await startStore();
    s3.faults.push({ operation, answer: 'AccessDenied' });
    // The answer to a HEAD has no body, so only the status is known.
    const name = operation === 'HeadObject' ? 'Unknown' : 'AccessDenied';
    await expect(call(store)).rejects.toMatchObject({
      name: 'AccessRefused',
      message: expect.stringContaining(
        `The function's role needs ${permission}, and the key that encrypts it. AWS refused to ${doing} bucket ${BUCKET} (${name}).`,
      ),
      facts: { aws_error: name, status: 403, aws_request_id: expect.stringMatching(/^[\w-]+$/), permission },
    });
  });

  it('25: is made five times, and leaves further tries to the state machine', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0); // the SDK's pauses are random, from 0 up
    const { store, s3 } = await startStore();
    s3.faults.push({ operation, answer: 'SlowDown', times: 9 });
    await expect(call(store)).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringContaining(`AWS could not ${doing} bucket ${BUCKET} (`),
      facts: { status: 503 },
    });
    expect(s3.journal).toHaveLength(5);
  });

  it('25: times out after 10 s', async () => {
    const timeouts = shortenTimeouts();
    const { store, s3 } = await startStore();
    s3.faults.push({ operation, answer: 'stall', times: 9 });
    await expect(call(store)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    expect(timeouts.mock.calls).toEqual([[10_000]]);
  });
});

it('27: a missing bucket is AccessRefused, not a missing object', async () => {
  await startStore();
  const store = createObjectStore({ BUCKET: 'elsewhere', BUCKET_OWNER: LOCAL_AWS_ACCOUNT });
  await expect(store.getText(KEY)).rejects.toMatchObject({
    name: 'AccessRefused',
    facts: { aws_error: 'NoSuchBucket' },
  });
});

it('25: a body that breaks off is ServiceUnavailable', async () => {
  const { store } = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"half":');
    setImmediate(() => response.destroy());
  });
  await expect(store.getText(KEY)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
});
