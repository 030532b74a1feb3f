import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Metadata, ObjectFiles } from '../../../functions/aws/object-files.ts';
import { publishObject } from '../../../functions/curate/publish-object.ts';
import { type DayValues, readMetadata } from '../../../functions/workflow/day-metadata.ts';
import { ServiceUnavailable } from '../../../functions/workflow/errors.ts';

/** One object in memory. `interrupt` runs before each PUT, as another writer would. */
function createFiles(interrupt: () => Promise<void> = async () => {}) {
  let object: { etag: string; metadata: Metadata } | undefined;
  let puts = 0;
  const files: Pick<ObjectFiles, 'head' | 'put'> = {
    head: async () => object,
    async put(_key, _path, metadata, replaces) {
      await interrupt();
      if (object?.etag !== replaces) return false;
      object = { etag: String(++puts), metadata };
      return true;
    },
  };
  return { files, shown: () => object && readMetadata(object.metadata), puts: () => puts };
}

function day(report_id: string, created_at: string, values: DayValues, request_hash = 'h') {
  return { report_id, created_at, request_hash, values };
}

const write = async () => 'path';
const OLD = day('r1', '2026-11-01T00:00:00.000Z', { rows: 1, sums: { spend: '1' } });
const NEW = day('r2', '2026-11-02T00:00:00.000Z', { rows: 1, sums: { spend: '2' } });

it('P7: whatever the order in which reports finish, the newest is shown', async () => {
  const reports = fc.uniqueArray(
    fc.record({ at: fc.integer({ min: 0, max: 9 }), id: fc.integer({ min: 0, max: 9 }) }),
    {
      selector: ({ at, id }) => `${at} ${id}`,
      minLength: 1,
    },
  );
  await fc.assert(
    fc.asyncProperty(reports, async (list) => {
      const { files, shown } = createFiles();
      const days = list.map(({ at, id }) =>
        day(`r${id}`, `2026-11-0${at + 1 > 9 ? 9 : at + 1}T0${at}:00:00.000Z`, { rows: id }),
      );
      for (const each of days) await publishObject(files, 'k', each, write);
      const newest = days.toSorted((one, other) =>
        `${one.created_at}${one.report_id}` < `${other.created_at}${other.report_id}` ? 1 : -1,
      )[0];
      expect(shown()).toMatchObject({ report_id: newest?.report_id, created_at: newest?.created_at });
    }),
  );
});

it('44: the same report again changes nothing and returns the same values before', async () => {
  const { files, puts } = createFiles();
  expect(await publishObject(files, 'k', OLD, write)).toEqual({ kept: false });
  const first = await publishObject(files, 'k', NEW, write);
  expect(first).toEqual({ kept: false, before: OLD.values });
  expect(await publishObject(files, 'k', NEW, write)).toEqual(first);
  expect(puts()).toBe(2);
});

it('a newer report is kept, and one of another request is replaced', async () => {
  const { files, shown } = createFiles();
  await publishObject(files, 'k', NEW, write);
  expect(await publishObject(files, 'k', OLD, write)).toEqual({ kept: true });
  await publishObject(files, 'k', { ...OLD, request_hash: 'another' }, write);
  expect(shown()).toMatchObject({ report_id: 'r1', request_hash: 'another' });
});

it('43: an object that changes before each PUT is looked at again, ten times', async () => {
  let writes = 0;
  const { files } = createFiles();
  const refused = { ...files, put: async () => false };
  const count = async () => `path ${++writes}`;
  await expect(publishObject(refused, 'k', NEW, count)).rejects.toThrow(ServiceUnavailable);
  expect(writes).toBe(10);
});

it('values that do not fit into 2 KB of metadata are compared by their hash', async () => {
  const sums = (last: string) =>
    Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`metric_${at}`, at < 99 ? '1' : last]));
  const { files } = createFiles();
  const id = 'é'.repeat(85);
  const large = (rows: number, last: string, at: string) => day(id, at, { rows, sums: sums(last) });
  await publishObject(files, 'k', large(1, '1', '2026-11-01T00:00:00.000Z'), write);
  const same = await publishObject(files, 'k', large(1, '1', '2026-11-02T00:00:00.000Z'), write);
  expect(same).toEqual({ kept: false });
  const other = await publishObject(files, 'k', large(1, '2', '2026-11-03T00:00:00.000Z'), write);
  expect(other.before).toMatchObject({ rows: 1, sums_hash: expect.any(String) });
  const { metadata } = (await files.head('k')) ?? { metadata: {} };
  expect(Buffer.byteLength(Object.entries(metadata).flat().join(''))).toBeLessThan(2_048);
});
