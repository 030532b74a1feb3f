import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { CopyCheckpoint } from '../../../functions/copy/copy.ts';
import {
  type Copying,
  expectDelivered,
  expectNothing,
  jsonOf,
  type Outcome,
  PART,
  startCopying,
} from '../../support/copying.ts';
import { counting } from '../../support/copying-calls.ts';
import type { FileOptions } from '../../support/storage-host.ts';

const { body } = jsonOf(12 * PART + 17);

/** A call whose time is up when this many bytes of the file have arrived. */
function callFor(copying: Copying, bytes: number, checkpoint?: CopyCheckpoint): Promise<Outcome> {
  const stop = new AbortController();
  let arrived = 0;
  const dispatcher = counting(copying.source.dispatcher, (length) => {
    arrived += length;
    if (arrived >= bytes - (checkpoint?.stored_bytes ?? 0)) stop.abort();
  });
  return copying.copy({ deadline: stop.signal, checkpoint, source: { dispatcher } });
}

function checkpointOf({ checkpoint, error }: Outcome): CopyCheckpoint {
  if (checkpoint === undefined) throw new Error('The call left no checkpoint', { cause: error });
  return checkpoint;
}

test.each([
  ['length', 1],
  ['length', 3],
  ['length', 12],
  ['chunked', 3],
] as const)('a file framed by %s arrives in %i more calls', async (framing, calls) => {
  await using copying = await startCopying({ body, framing });
  let outcome = await callFor(copying, PART);
  for (let call = 2; call <= calls; call++)
    outcome = await callFor(copying, call * PART, checkpointOf(outcome));
  expect([outcome.object, outcome.openUploads]).toEqual([undefined, 1]);
  outcome = await callFor(copying, Infinity, checkpointOf(outcome));
  expectDelivered(outcome, body);
});

test('each call fetches again at most the part in which the call before stopped', async () => {
  await using copying = await startCopying({ body });
  let outcome = await callFor(copying, 2.5 * PART);
  outcome = await callFor(copying, 6.9 * PART, checkpointOf(outcome));
  outcome = await callFor(copying, Infinity, checkpointOf(outcome));
  expectDelivered(outcome, body);
  const starts = copying.host.requests.map(({ range }) => Number(/\d+/.exec(range ?? '0')));
  expect(starts.map((start) => start % PART)).toEqual([0, 0, 0]);
  const stops = [2.5 * PART, 6.9 * PART];
  // The chunk that ends a call is up to 64 KiB long, so it may reach into another part.
  for (const [at, stop] of stops.entries()) expect(stop - (starts[at + 1] ?? 0)).toBeLessThan(2 * PART);
});

test('a copy of more parts than S3 lists at once is resumed', async () => {
  const part = 64;
  const file = jsonOf(1_100 * part).body;
  const turns = [{ after: 1_050 * part, by: 'close' as const }, { status: 403 }];
  await using copying = await startCopying({ body: file, turns });
  const deadline = new AbortController().signal;
  const checkpoint = checkpointOf(await copying.copy({ deadline, part }));
  expect(checkpoint.stored_bytes).toBeGreaterThan(1_000 * part);
  expectDelivered(await copying.copy({ deadline, part, checkpoint }), file);
  expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${checkpoint.stored_bytes}-`);
});

test('28: the parts of a call that was killed are uploaded again', async () => {
  await using copying = await startCopying({ body });
  const first = checkpointOf(await callFor(copying, 2 * PART));
  await callFor(copying, 7 * PART, first); // its answer never came
  const outcome = await callFor(copying, Infinity, first);
  expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${first.stored_bytes}-`);
  expectDelivered(outcome, body);
});

test('18: a file that changed between two calls is copied from its beginning, and the old upload is aborted', async () => {
  const changed = { body: jsonOf(9 * PART).body, etag: '"two"' };
  await using copying = await startCopying({ body, turns: [{}, changed, changed] });
  const first = checkpointOf(await callFor(copying, 5 * PART));
  const outcome = await callFor(copying, Infinity, first);
  expectDelivered(outcome, changed.body);
});

test('a copy whose upload no longer exists starts from the beginning', async () => {
  await using copying = await startCopying({ body });
  const first = checkpointOf(await callFor(copying, 5 * PART));
  const outcome = await callFor(copying, Infinity, { ...first, upload_id: 'removed-by-lifecycle' });
  expect(outcome.object?.equals(body)).toBe(true);
  expect(outcome.openUploads).toBe(1); // the one that this call did not hear of
});

test('a copy whose parts differ from the checkpoint starts from the beginning and aborts their upload', async () => {
  await using copying = await startCopying({ body });
  const first = checkpointOf(await callFor(copying, 3 * PART));
  const outcome = await callFor(copying, Infinity, { ...first, stored_bytes: first.stored_bytes + PART });
  expectDelivered(outcome, body);
});

const gone: [string, Partial<FileOptions>][] = [
  ['a weak ETag', { etag: 'W/"one"' }],
  ['no ETag', { etag: null }],
  ['gzip', { body: gzipSync(body, { level: 0 }), headers: { 'Content-Encoding': 'gzip' } }],
];
test.each(
  gone,
)('18: a file with %s cannot be resumed, which fails the copy when the time is up', async (_, file) => {
  await using copying = await startCopying({ body, ...file });
  const outcome = await callFor(copying, 5 * PART);
  expectNothing(outcome, 'DownloadRefused');
  expect(String(outcome.error)).toContain('cannot be resumed');
});

test('the second call notices that the host serves no ranges and starts from the beginning', async () => {
  await using copying = await startCopying({ body, ranges: false });
  const first = checkpointOf(await callFor(copying, 5 * PART));
  expectNothing(await callFor(copying, 7 * PART, first), 'DownloadRefused');
  const second = checkpointOf(await callFor(copying, 5 * PART));
  expectDelivered(await callFor(copying, Infinity, second), body);
});

test.each([
  ['19: an expired URL', { status: 403 }],
  ['20: a host that is gone', { status: 503 }],
])('%s in mid-body leaves a checkpoint', async (_, turn) => {
  const turns = [{ after: 5 * PART + 9, by: 'close' as const }, ...Array.from({ length: 6 }, () => turn)];
  await using copying = await startCopying({ body, turns });
  const first = checkpointOf(await callFor(copying, Infinity));
  expect(first.stored_bytes).toBeGreaterThan(PART);
  while (copying.host.requests.length < turns.length) await callFor(copying, Infinity, first);
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('19: a call that stores no part before its URL expires leaves the earlier upload as it was', async () => {
  await using copying = await startCopying({ body, turns: [{}, { status: 403 }] });
  const first = checkpointOf(await callFor(copying, 5 * PART));
  const second = await callFor(copying, Infinity, first);
  expect(second.error).toMatchObject({ name: 'UrlExpired' });
  expect(second.openUploads).toBe(1);
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('a call that stored no part fails and leaves no upload', async () => {
  await using copying = await startCopying({ body, turns: [{ after: 10, by: 'stall' }] });
  const outcome = await callFor(copying, 10);
  expectNothing(outcome, 'CopyFailed');
});

test('25: a part that S3 refuses for too long leaves a checkpoint before that part', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 2, answer: 'SlowDown' as const, times: 5 }];
  await using copying = await startCopying({ body }, { faults });
  const first = checkpointOf(await callFor(copying, Infinity));
  expect(first).toMatchObject({ stored_bytes: PART });
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('25: if S3 refuses the first part, nothing is left, although later parts were stored', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 1, answer: 'SlowDown' as const, times: 5 }];
  await using copying = await startCopying({ body }, { faults });
  expectNothing(await callFor(copying, Infinity), 'ServiceUnavailable');
});

test('25: if S3 cannot complete the upload, the next call completes it without a download', async () => {
  const faults = [
    { operation: 'CompleteMultipartUpload' as const, answer: 'InternalError' as const, times: 5 },
  ];
  await using copying = await startCopying({ body }, { faults });
  const first = checkpointOf(await callFor(copying, Infinity));
  expect(first.stored_bytes).toBe(body.length);
  const second = await callFor(copying, Infinity, first);
  expectDelivered(second, body);
  expect(copying.host.requests).toHaveLength(1);
});

test('26: an object whose checksum S3 finds wrong is copied from the beginning', async () => {
  const faults = [{ operation: 'CompleteMultipartUpload' as const, answer: 'BadDigest' as const, times: 5 }];
  await using copying = await startCopying({ body }, { faults });
  expectNothing(await callFor(copying, Infinity), 'CopyFailed');
});

test('a final failure aborts the upload of an earlier call too', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 9, answer: 'AccessDenied' as const }];
  await using copying = await startCopying({ body }, { faults });
  const first = checkpointOf(await callFor(copying, 5 * PART));
  expectNothing(await callFor(copying, Infinity, first), 'AccessRefused');
});
