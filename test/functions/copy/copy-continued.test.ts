import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Unfinished } from '../../../functions/copy/attempt.ts';
import {
  type Copying,
  expectDelivered,
  expectNothing,
  jsonOf,
  type Outcome,
  openCopying,
  PART,
} from '../../support/copying.ts';
import type { FileOptions } from '../../support/storage-host.ts';

const { body, rows } = jsonOf(12 * PART + 17);

/** A call whose time is up when so many bytes of the file are there. */
function callFor(copying: Copying, bytes: number, unfinished?: Unfinished): Promise<Outcome> {
  const stop = new AbortController();
  const onProgress = (come: number) => come >= bytes && stop.abort();
  return copying.copy({ deadline: stop.signal, unfinished, onProgress });
}

/** As a state machine hands it on. */
function handedOn({ unfinished }: Outcome): Unfinished {
  if (unfinished === undefined) throw new Error('The copy is not unfinished');
  return JSON.parse(JSON.stringify(unfinished));
}

test.each([
  ['length', 1],
  ['length', 3],
  ['length', 12],
  ['chunked', 3],
  ['close', 3],
] as const)('a file whose end is known by %s goes on in %i more calls', async (framing, calls) => {
  await using copying = await openCopying({ body, framing });
  let outcome = await callFor(copying, PART);
  for (let call = 2; call <= calls; call++) outcome = await callFor(copying, call * PART, handedOn(outcome));
  expect([outcome.object, outcome.openUploads]).toEqual([undefined, 1]);
  outcome = await callFor(copying, Infinity, handedOn(outcome));
  expectDelivered(outcome, body);
  expect(outcome.copied?.rows).toBe(rows);
});

test('each call fetches no more than the part again in which its predecessor stopped', async () => {
  await using copying = await openCopying({ body });
  let outcome = await callFor(copying, 2.5 * PART);
  outcome = await callFor(copying, 6.9 * PART, handedOn(outcome));
  outcome = await callFor(copying, Infinity, handedOn(outcome));
  expectDelivered(outcome, body);
  const starts = copying.host.requests.map(({ range }) => Number(/\d+/.exec(range ?? '0')));
  expect(starts.map((start) => start % PART)).toEqual([0, 0, 0]);
  const stops = [2.5 * PART, 6.9 * PART];
  // What arrives in one piece with the byte that ends a call, at most 64 KiB, comes on top.
  for (const [at, stop] of stops.entries()) expect(stop - (starts[at + 1] ?? 0)).toBeLessThan(2 * PART);
});

test('more parts than S3 lists at once are taken up', async () => {
  const size = () => 64;
  const file = jsonOf(1_100 * size()).body;
  const turns = [{ after: 1_050 * size(), by: 'close' as const }, { status: 403 }];
  await using copying = await openCopying({ body: file, turns });
  const deadline = new AbortController().signal;
  const unfinished = handedOn(await copying.copy({ deadline, size }));
  expect(unfinished.part).toBe(1_051);
  expectDelivered(await copying.copy({ deadline, size, unfinished }), file);
  expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${unfinished.at}-`);
});

test('28: the parts of a call that was killed are stored over', async () => {
  await using copying = await openCopying({ body });
  const first = handedOn(await callFor(copying, 2 * PART));
  await callFor(copying, 7 * PART, first); // its answer never came
  const outcome = await callFor(copying, Infinity, first);
  expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${first.at}-`);
  expectDelivered(outcome, body);
  expect(outcome.copied?.rows).toBe(rows);
});

test('18: an object that changed between two calls is begun again, and its upload given up', async () => {
  const changed = { body: jsonOf(9 * PART).body, etag: '"two"' };
  await using copying = await openCopying({ body, turns: [{}, changed, changed] });
  const first = handedOn(await callFor(copying, 5 * PART));
  const outcome = await callFor(copying, Infinity, first);
  expectDelivered(outcome, changed.body);
});

test('an upload that is there no more is begun again', async () => {
  await using copying = await openCopying({ body });
  const first = handedOn(await callFor(copying, 5 * PART));
  const outcome = await callFor(copying, Infinity, { ...first, uploadId: 'removed-by-lifecycle' });
  expect(outcome.object?.equals(body)).toBe(true);
  expect(outcome.openUploads).toBe(1); // the one that this call did not hear of
});

test('parts that are not what the state says are begun again, and their upload is given up', async () => {
  await using copying = await openCopying({ body });
  const first = handedOn(await callFor(copying, 3 * PART));
  const outcome = await callFor(copying, Infinity, { ...first, part: first.part + 1, at: first.at + PART });
  expectDelivered(outcome, body);
});

const gone: [string, Partial<FileOptions>][] = [
  ['a weak ETag', { etag: 'W/"one"' }],
  ['no ETag', { etag: null }],
  ['gzip', { body: gzipSync(body, { level: 0 }), headers: { 'Content-Encoding': 'gzip' } }],
];
test.each(gone)('18: with %s it cannot go on, which is said only when the time is up', async (_, file) => {
  await using copying = await openCopying({ body, ...file });
  const outcome = await callFor(copying, 5 * PART);
  expectNothing(outcome, 'DownloadRefused');
  expect(String(outcome.error)).toContain('cannot be gone on with');
});

test('a host that serves no ranges is found out by the second call, which begins again and may come to the end', async () => {
  await using copying = await openCopying({ body, ranges: false });
  const first = handedOn(await callFor(copying, 5 * PART));
  expectNothing(await callFor(copying, 7 * PART, first), 'DownloadRefused');
  const second = handedOn(await callFor(copying, 5 * PART));
  expectDelivered(await callFor(copying, Infinity, second), body);
});

test.each([
  ['19: an expired URL', { status: 403 }],
  ['20: a host that is gone', { status: 503 }],
])('%s in mid-body leaves what is stored to a later call', async (_, turn) => {
  const turns = [{ after: 5 * PART + 9, by: 'close' as const }, ...Array.from({ length: 6 }, () => turn)];
  await using copying = await openCopying({ body, turns });
  const first = handedOn(await callFor(copying, Infinity));
  expect(first.part).toBe(6);
  while (copying.host.requests.length < turns.length) await callFor(copying, Infinity, first);
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('19: an expired URL that met no part leaves what was there before as it was', async () => {
  await using copying = await openCopying({ body, turns: [{}, { status: 403 }] });
  const first = handedOn(await callFor(copying, 5 * PART));
  const second = await callFor(copying, Infinity, first);
  expect(second.error).toMatchObject({ name: 'UrlExpired' });
  expect(second.openUploads).toBe(1);
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('a call in which no part came says so, and leaves nothing of its own', async () => {
  await using copying = await openCopying({ body, turns: [{ after: 10, by: 'stall' }] });
  const outcome = await callFor(copying, 10);
  expectNothing(outcome, 'CopyFailed');
});

test('25: a part that S3 refuses for too long leaves what is before it, not what is behind', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 2, answer: 'SlowDown' as const, times: 5 }];
  await using copying = await openCopying({ body }, { faults });
  const first = handedOn(await callFor(copying, Infinity));
  expect(first).toMatchObject({ part: 2, at: PART });
  expectDelivered(await callFor(copying, Infinity, first), body);
});

test('25: where it is the first, nothing is left, though parts behind it are stored', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 1, answer: 'SlowDown' as const, times: 5 }];
  await using copying = await openCopying({ body }, { faults });
  expectNothing(await callFor(copying, Infinity), 'ServiceUnavailable');
});

test('25: an S3 that is down for the last step is left the parts', async () => {
  const faults = [{ operation: 'CompleteMultipartUpload' as const, answer: 'InternalError' as const }];
  await using copying = await openCopying({ body }, { faults });
  const first = handedOn(await callFor(copying, Infinity));
  expect(first.at).toBe(body.length);
  const second = await callFor(copying, Infinity, first);
  expectDelivered(second, body);
  expect(copying.host.requests).toHaveLength(1);
});

test('26: a whole that S3 finds wrong is begun again', async () => {
  const faults = [{ operation: 'CompleteMultipartUpload' as const, answer: 'BadDigest' as const }];
  await using copying = await openCopying({ body }, { faults });
  expectNothing(await callFor(copying, Infinity), 'CopyFailed');
});

test('what cannot be cured gives up the upload of an earlier call too', async () => {
  const faults = [{ operation: 'UploadPart' as const, part: 9, answer: 'AccessDenied' as const }];
  await using copying = await openCopying({ body }, { faults });
  const first = handedOn(await callFor(copying, 5 * PART));
  expectNothing(await callFor(copying, Infinity, first), 'AccessRefused');
});
