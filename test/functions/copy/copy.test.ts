import { gzipSync } from 'node:zlib';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCopy } from '../../../functions/copy/copy.ts';
import type { Settings } from '../../../functions/workflow/settings.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../infra/lab/local/s3/server.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import {
  type Cut,
  copyOnce,
  expectDelivered,
  expectNothing,
  jsonOf,
  KEY,
  PART,
  startCopying,
} from '../../support/copying.ts';
import { SETTINGS, startBucket } from '../../support/lambda.ts';
import { BUCKET } from '../../support/s3.ts';
import { startStorageHost, type Turn } from '../../support/storage-host.ts';

const body = jsonOf(12 * PART + 17);
const changed = { body: jsonOf(9 * PART), etag: '"two"' };
const FRAMINGS = ['length', 'chunked'] as const;

const closeAfter = (parts: number): Turn => ({ after: parts * PART + 7, by: 'close' });

describe('a file', () => {
  test.each(FRAMINGS)('framed by %s arrives byte for byte in one GET', async (framing) => {
    const outcome = await copyOnce({ body, framing });
    expectDelivered(outcome, body);
    expect(outcome.copied).toMatchObject({ key: KEY, content_type: 'application/json' });
    expect(outcome.host.requests).toHaveLength(1);
  });

  test('arrives byte for byte over TLS', async () => {
    expectDelivered(await copyOnce({ body, certificate: CERTIFICATE }), body);
  });

  test.each([1, PART - 1, PART, PART + 1, 2 * PART, 3 * PART])('of %i bytes arrives', async (bytes) => {
    const file = Buffer.alloc(bytes, 'x');
    const outcome = await copyOnce({ body: file });
    expectDelivered(outcome, file);
    const puts = outcome.s3.journal.map(({ operation }) => operation);
    expect(puts.includes('PutObject')).toBe(file.length < PART);
  });

  test('24: with a content encoding is stored as it came, labelled, also by two calls', async () => {
    const packed = gzipSync(body, { level: 0 });
    const headers = { 'Content-Encoding': 'gzip' };
    await using copying = await startCopying({ body: packed, headers, turns: [closeAfter(3)] });
    const outcome = await copying.save();
    expectDelivered(outcome, packed);
    expect(outcome).toMatchObject({ calls: 2, copied: { content_encoding: 'gzip' } });
    const head = new HeadObjectCommand({ Bucket: BUCKET, Key: KEY, ExpectedBucketOwner: LOCAL_AWS_ACCOUNT });
    expect(await copying.s3.client.send(head)).toMatchObject({
      ContentEncoding: 'gzip',
      ContentType: 'application/json',
    });
  });

  test.each(FRAMINGS)('22: over the cap (%s) is stopped, and its upload aborted', async (framing) => {
    const outcome = await copyOnce({ body, framing }, { destination: { maxBytes: 4 * PART } });
    expectNothing(outcome, 'DownloadRefused');
    expect(outcome.s3.journal.some(({ operation }) => operation === 'AbortMultipartUpload')).toBe(
      framing === 'chunked',
    );
  });
});

describe('a download that breaks off', () => {
  test.each(FRAMINGS)('16, 17: (%s) is resumed by the next call after its last part', async (framing) => {
    await using copying = await startCopying({ body, framing, turns: [closeAfter(5), closeAfter(3)] });
    const first = await copying.copy();
    const from = first.checkpoint?.stored_bytes ?? 0;
    expect(first).toMatchObject({ object: undefined, openUploads: 1 });
    expect(first.checkpoint).toMatchObject({ etag: '"one"', content_type: 'application/json' });
    expect(from).toBeGreaterThan(0);
    expect(from % PART).toBe(0);
    const second = await copying.copy({ checkpoint: first.checkpoint });
    const then = second.checkpoint?.stored_bytes ?? 0;
    expect(second.checkpoint?.upload_id).toBe(first.checkpoint?.upload_id);
    expect(then).toBeGreaterThan(from);
    expect(then % PART).toBe(0);
    expectDelivered(await copying.copy({ checkpoint: second.checkpoint }), body);
    const ranges = copying.host.requests.map(({ range }) => range);
    expect(ranges).toEqual([undefined, `bytes=${from}-`, `bytes=${then}-`]);
  });

  test('16: before its first part leaves nothing, and fails the call', async () => {
    expectNothing(await copyOnce({ body, turns: [{ after: PART - 1, by: 'reset' }] }), 'CopyFailed');
  });

  test.each([
    { after: 3, by: 'close' } as const,
    { status: 403 },
    { status: 503 },
  ])('16: again before a new part (%j) leaves the parts of the earlier call', async (turn) => {
    await using copying = await startCopying({ body, turns: [closeAfter(5), turn] });
    const { checkpoint } = await copying.copy();
    const second = await copying.copy({ checkpoint });
    expect(second).toMatchObject({ error: expect.any(Error), openUploads: 1 });
    expectDelivered(await copying.copy({ checkpoint }), body);
    expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${checkpoint?.stored_bytes}-`);
  });

  test.each([
    ['a weak ETag', { etag: 'W/"one"' }],
    ['no ETag', { etag: null }],
  ])('18: with %s leaves nothing, and the next call starts again', async (_, options) => {
    await using copying = await startCopying({ body, ...options, turns: [closeAfter(5)] });
    expectNothing(await copying.copy(), 'CopyFailed');
    expectDelivered(await copying.copy(), body);
  });

  test.each<[string, Turn | { ranges: boolean }, Buffer]>([
    ['changed', changed, changed.body],
    ['changed, behind a host that ignores If-Match', { ...changed, ignoresIfMatch: true }, changed.body],
    ['is served without ranges', { ranges: false }, body],
  ])('18: of a file that %s starts again, and never mixes versions', async (_, later, expected) => {
    const turns = [closeAfter(5), later, later, later] as Turn[];
    await using copying = await startCopying({ body, turns });
    const { checkpoint } = await copying.copy();
    expectNothing(await copying.copy({ checkpoint }), 'CopyFailed');
    expectDelivered(await copying.copy({ checkpoint }), expected);
  });
});

test.each([
  ['no longer exists', { upload_id: 'removed-by-lifecycle' }],
  ['lacks a part', { stored_bytes: 9 * PART }],
])('28: an upload that %s is not resumed, and the copy starts again', async (_, wrong) => {
  await using copying = await startCopying({ body, turns: [closeAfter(5)] });
  const { checkpoint } = await copying.copy();
  if (!checkpoint) throw new Error('The first call left no checkpoint');
  const { object, openUploads } = await copying.copy({ checkpoint: { ...checkpoint, ...wrong } });
  expect(object?.equals(body)).toBe(true);
  expect(openUploads).toBe('upload_id' in wrong ? 1 : 0);
  expect(copying.host.requests.at(-1)?.range).toBeUndefined();
});

test('16–28: breaks, expired URLs, slow hosts, short calls and kills in any order end with the whole file', async () => {
  const turn: fc.Arbitrary<Turn> = fc.oneof(
    fc.record({ after: fc.nat(body.length), by: fc.constantFrom('reset' as const, 'close' as const) }),
    fc.record({ status: fc.constantFrom(403, 412, 416, 500, 503) }),
    fc.constant({}),
  );
  const cut: fc.Arbitrary<Cut> = fc.record({
    after: fc.integer({ min: 1, max: body.length }),
    by: fc.constantFrom('time', 'kill'),
  });
  const scenario = fc.record({
    framing: fc.constantFrom(...FRAMINGS),
    etag: fc.constantFrom('"one"', '"one"', 'W/"one"', null),
    ranges: fc.constantFrom(true, true, false),
    turns: fc.array(turn, { maxLength: 3 }),
    /** From this request on, the host serves another file. */
    changes: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    cuts: fc.array(cut, { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ turns, changes = 0, cuts, ...file }) => {
      const old = Array.from({ length: changes }, (_, at) => turns[at] ?? {});
      const after = Array.from({ length: changes && 20 }, () => changed);
      await using copying = await startCopying({
        ...file,
        body,
        turns: changes ? [...old, ...after] : turns,
      });
      const { object, error, openUploads } = await copying.save(cuts);
      expect(error).toBeUndefined();
      expect(object?.equals(body) || object?.equals(changed.body)).toBe(true);
      // The bucket's lifecycle rule removes the upload of a call that was killed before its first checkpoint.
      expect(openUploads).toBeLessThanOrEqual(cuts.filter(({ by }) => by === 'kill').length);
    }),
    { numRuns: process.env.VERSITYGW ? 10 : 40 },
  );
});

describe('the copy that SaveReport creates', () => {
  async function start(settings: Partial<Settings>) {
    const { s3 } = await startBucket();
    const host = await startStorageHost({ body });
    onTestFinished(() => host[Symbol.asyncDispose]());
    const { signal: deadline } = new AbortController();
    const copy = createCopy({ ...SETTINGS, MAX_DOWNLOAD_BYTES: String(2 * body.length), ...settings });
    return { s3, host, copying: copy({ url: host.url, key: KEY, deadline, checkpoint: undefined }) };
  }

  test.each<Partial<Settings>>([
    { ALLOW_LOOPBACK: 'true' },
    { ALLOW_LOOPBACK: 'true', DOWNLOAD_HOSTS: 'files.example, 127.0.0.1' },
    { ALLOW_LOOPBACK: 'true', MAX_DOWNLOAD_BYTES: String(body.length) },
  ])('copies with the settings %j', async (settings) => {
    const { copying } = await start(settings);
    expect(await copying).toMatchObject({ key: KEY, bytes: body.length });
  });

  test.each<[string, Partial<Settings>, number]>([
    ['21: a host that is not in DOWNLOAD_HOSTS', { ALLOW_LOOPBACK: 'true', DOWNLOAD_HOSTS: '127.0.0.2' }, 0],
    ['21: this machine without ALLOW_LOOPBACK', {}, 0],
    ['22: a file announced as too large', { ALLOW_LOOPBACK: 'true', MAX_DOWNLOAD_BYTES: '49999' }, 1],
  ])('refuses %s before anything is stored', async (_, settings, requests) => {
    const { copying, host, s3 } = await start(settings);
    await expect(copying).rejects.toMatchObject({ name: 'DownloadRefused' });
    expect(host.requests).toHaveLength(requests);
    expect(s3.journal).toEqual([]);
  });
});
