import { expect, test } from 'vitest';
import type { CopyCheckpoint } from '../../../functions/copy/copy.ts';
import { createBufferPool } from '../../../functions/copy/parts.ts';
import { type Copying, expectNothing, jsonOf, startCopying } from '../../support/copying.ts';
import { callCopy } from '../../support/copying-calls.ts';
import type { Turn } from '../../support/storage-host.ts';

const PART = 512 * 1024;

/** At a break, undici drops what it has received and not passed on yet: up to two chunks of 64 KiB. */
const DROPPED = 128 * 1024;

const { body } = jsonOf(12 * PART + 17);

/** Copies the file in as many calls as it takes. Counts the bytes that arrived and the memory of the parts. */
async function copyCounted(copying: Copying, cuts: readonly number[]) {
  let fetched = 0;
  let allocated = 0;
  const arrived = (bytes: number) => {
    fetched += bytes;
  };
  let checkpoint: CopyCheckpoint | undefined;
  for (const after of [...cuts, Infinity]) {
    const { partBytes, get } = createBufferPool(PART);
    const buffers = new Set<Buffer>();
    const pool = {
      partBytes,
      get(index: number) {
        buffers.add(get(index));
        return get(index);
      },
    };
    const cut = { after, by: 'time' as const };
    const ended = await callCopy(copying, checkpoint, { part: PART, cut, arrived, pool });
    checkpoint = 'upload_id' in ended ? ended : undefined;
    allocated = Math.max(allocated, buffers.size * PART);
  }
  return { fetched, allocated, object: await copying.object() };
}

test.each([1, 3, 20])('%i breaks fetch almost nothing twice', async (breaks) => {
  const turns: Turn[] = Array.from({ length: breaks }, () => ({ after: PART / 2, by: 'close' }));
  await using copying = await startCopying({ body, turns });
  const { fetched, object } = await copyCounted(copying, []);
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeLessThanOrEqual(body.length + breaks * DROPPED);
});

test.each([1, 3, 6])('%i calls that run out of time fetch at most one part each twice', async (calls) => {
  await using copying = await startCopying({ body });
  const cuts = Array.from({ length: calls }, (_, call) => PART * (1 + (call % 2)) + 7_777 * call + 99);
  const { fetched, object } = await copyCounted(copying, cuts);
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeGreaterThan(body.length);
  expect(fetched - body.length).toBeLessThanOrEqual(calls * (PART + DROPPED));
});

test('a break without a strong ETag fetches again only what had arrived', async () => {
  const turns: Turn[] = [{ after: 5 * PART, by: 'close' }];
  await using copying = await startCopying({ body, etag: null, turns });
  const { fetched, object } = await copyCounted(copying, []);
  expect(object?.equals(body)).toBe(true);
  expect(fetched).toBeGreaterThan(body.length + 4 * PART);
  expect(fetched).toBeLessThanOrEqual(body.length + 5 * PART);
});

test.each([12, 40])('a copy of %i parts uses the memory of two', async (parts) => {
  const file = jsonOf(parts * PART + 17).body;
  const turns: Turn[] = [{ after: 3 * PART, by: 'reset' }, { status: 503 }];
  await using copying = await startCopying({ body: file, turns });
  expect((await copyCounted(copying, [])).allocated).toBe(2 * PART);
});

test('a copy that starts again from the beginning uses the same two buffers', async () => {
  const turns: Turn[] = [4, 6, 2].map((parts) => ({ after: parts * PART + 9, by: 'close' }));
  await using copying = await startCopying({ body, etag: 'W/"one"', turns });
  expect((await copyCounted(copying, [])).allocated).toBe(2 * PART);
});

test('a file that is smaller than a part uses one buffer', async () => {
  await using copying = await startCopying({ body: jsonOf(PART / 2).body });
  expect((await copyCounted(copying, [])).allocated).toBe(PART);
});

test('17: a file that starts again from the beginning each time is fetched five times', async () => {
  const turns: Turn[] = Array.from({ length: 40 }, () => ({ after: 6 * PART, by: 'close' }));
  await using copying = await startCopying({ body, etag: null, turns });
  expectNothing(await copying.copy({ part: PART }), 'CopyFailed');
  expect(copying.host.sent()).toBe(5 * 6 * PART);
});
