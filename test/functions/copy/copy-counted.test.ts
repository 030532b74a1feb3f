import { expect, test } from 'vitest';
import { divide } from '../../../functions/copy/copy-range.ts';
import { openRing } from '../../../functions/copy/part-writer.ts';
import { createUpload } from '../../../functions/copy/upload.ts';
import { type Copying, jsonOf, openCopying } from '../../support/copying.ts';
import { callCopy, callRange } from '../../support/copying-calls.ts';
import type { Turn } from '../../support/storage-host.ts';

/** Two pieces of a body, which come in 256 KiB at most. */
const PART = 512 * 1024;

/** Of all answers to a copy, at 300 bytes each. */
const HEADS = 10_000;

const { body } = jsonOf(12 * PART + 17);

/** Copies the file in as many calls as it takes, and counts what came and what was held of it. */
async function counted(copying: Copying, cuts: readonly number[]) {
  let fetched = 0;
  let held = 0;
  const come = (bytes: number) => {
    fetched += bytes;
  };
  let unfinished: Awaited<ReturnType<typeof callCopy>> | undefined;
  for (const after of [...cuts, Infinity]) {
    const ring = openRing();
    const before = unfinished && 'uploadId' in unfinished ? unfinished : undefined;
    unfinished = await callCopy(copying, before, { part: PART, cut: { after, by: 'time' }, come, ring });
    held = Math.max(held, ring.held());
  }
  return { fetched, held, object: await copying.object() };
}

test.each([
  1, 3, 20,
])('%i breaks fetch nothing twice where the bytes before them have come', async (breaks) => {
  const turns: Turn[] = Array.from({ length: breaks }, () => ({ after: PART / 2, by: 'close' }));
  await using copying = await openCopying({ body, turns });
  const { fetched, object } = await counted(copying, []);
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeLessThanOrEqual(body.length + HEADS);
});

test.each([
  1, 3, 6,
])('%i calls that end too soon have no more than a part each fetched twice', async (calls) => {
  await using copying = await openCopying({ body });
  const { fetched, object } = await counted(
    copying,
    Array.from({ length: calls }, (_, call) => PART * (1 + (call % 2)) + 7_777 * call + 99),
  );
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeGreaterThan(body.length + HEADS);
  expect(fetched - body.length).toBeLessThanOrEqual(calls * PART + HEADS);
});

test('a break without a strong ETag fetches again what had come, and no more', async () => {
  const turns: Turn[] = [{ after: 5 * PART, by: 'close' }];
  await using copying = await openCopying({ body, etag: null, turns });
  const { fetched, object } = await counted(copying, []);
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeGreaterThan(body.length + 4 * PART);
  expect(fetched).toBeLessThanOrEqual(body.length + 5 * PART + HEADS);
});

test.each([12, 40])('a copy of %i parts holds two of them', async (parts) => {
  const file = jsonOf(parts * PART + 17).body;
  const turns: Turn[] = [{ after: 3 * PART, by: 'reset' }, { status: 503 }];
  await using copying = await openCopying({ body: file, turns });
  expect((await counted(copying, [])).held).toBe(2 * PART);
});

test('one that is begun again uses the same two', async () => {
  const turns: Turn[] = [4, 6, 2].map((parts) => ({ after: parts * PART + 9, by: 'close' }));
  await using copying = await openCopying({ body, etag: 'W/"one"', turns });
  expect((await counted(copying, [])).held).toBe(2 * PART);
});

test('a file of less than a part holds one', async () => {
  const small = jsonOf(PART / 2).body;
  await using copying = await openCopying({ body: small });
  expect((await counted(copying, [])).held).toBe(PART);
});

test('each range holds two, and all of them fetch the file once', async () => {
  await using copying = await openCopying({ body });
  const { id } = await createUpload(copying.destination, { contentType: 'application/json' });
  const head = { contentType: 'application/json', contentEncoding: undefined, ignoresRanges: false };
  const divided = { uploadId: id, file: { ...head, etag: '"one"', bytes: body.length } };
  let fetched = 0;
  const come = (bytes: number) => {
    fetched += bytes;
  };
  for (const range of divide(body.length, 4, { size: () => PART, streamed: false })) {
    const ring = openRing();
    await callRange(copying, divided, range, { part: PART, come, ring });
    expect(ring.held()).toBe(Math.min(2 * PART, range.to - range.from));
  }
  expect(fetched).toBeLessThanOrEqual(body.length + HEADS);
});

test('17: a file that has to begin again each time is fetched five times, and given up', async () => {
  const turns: Turn[] = Array.from({ length: 40 }, () => ({ after: 6 * PART, by: 'close' }));
  await using copying = await openCopying({ body, etag: null, turns });
  const { error, object, openUploads } = await copying.copy({ size: () => PART });
  expect(error).toMatchObject({ name: 'CopyFailed' });
  expect([object, openUploads]).toEqual([undefined, 0]);
  expect(copying.host.sent()).toBe(5 * 6 * PART);
});
