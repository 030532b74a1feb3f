import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Metadata, ObjectStore } from '../../../functions/aws/objects.ts';
import { type ParquetFiles, publishObject } from '../../../functions/curate/publish-object.ts';
import { type DayValues, readVersion } from '../../../functions/workflow/day-metadata.ts';
import { ServiceUnavailable } from '../../../functions/workflow/errors.ts';

/** One object in memory. `interrupt` runs before each PUT, as another writer would. */
function createFiles(interrupt: () => Promise<void> = async () => {}) {
  let object: { etag: string; metadata: Metadata; inside: Metadata } | undefined;
  let puts = 0;
  const written: Metadata[] = [];
  const files: Pick<ObjectStore, 'head' | 'putFile'> = {
    head: async () => object,
    async putFile(_key, path, metadata, replaces) {
      await interrupt();
      if (object?.etag !== replaces) return false;
      object = { etag: String(++puts), metadata, inside: written[Number(path)] ?? {} };
      return true;
    },
  };
  const parquet: ParquetFiles = {
    write: async (metadata) => String(written.push(metadata) - 1),
    readMetadata: async ({ etag }) => (object?.etag === etag ? object.inside : undefined),
  };
  const publish = (day: Day) => publishObject(files, 'k', day, parquet);
  return { files, parquet, publish, shown: () => object && readVersion(object.metadata), puts: () => puts };
}

type Day = Parameters<typeof publishObject>[2];

function day(report_id: string, created_at: string, values: DayValues, request_hash = 'h') {
  return { report_id, created_at, request_hash, values };
}

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
      const { publish, shown } = createFiles();
      const days = list.map(({ at, id }) =>
        day(`r${id}`, `2026-11-0${at + 1 > 9 ? 9 : at + 1}T0${at}:00:00.000Z`, { rows: id }),
      );
      for (const each of days) await publish(each);
      const newest = days.toSorted((one, other) =>
        `${one.created_at}${one.report_id}` < `${other.created_at}${other.report_id}` ? 1 : -1,
      )[0];
      expect(shown()).toMatchObject({ report_id: newest?.report_id, created_at: newest?.created_at });
    }),
  );
});

it('44: the same report again changes nothing and returns the same values before', async () => {
  const { publish, puts } = createFiles();
  expect(await publish(OLD)).toEqual({ kept: false });
  const first = await publish(NEW);
  expect(first).toEqual({ kept: false, before: OLD.values });
  expect(await publish(NEW)).toEqual(first);
  expect(puts()).toBe(2);
});

it('a newer report is kept, and one of another request is replaced', async () => {
  const { publish, shown } = createFiles();
  await publish(NEW);
  expect(await publish(OLD)).toEqual({ kept: true });
  expect(await publish({ ...OLD, request_hash: 'another' })).toMatchObject({ kept: false, tookOver: true });
  expect(shown()).toMatchObject({ report_id: 'r1', request_hash: 'another' });
});

it('43: an object that changes before each PUT is looked at again, ten times', async () => {
  const { files, parquet } = createFiles();
  let writes = 0;
  const refused = { ...files, putFile: async () => false };
  const write = async () => `path ${++writes}`;
  await expect(publishObject(refused, 'k', NEW, { ...parquet, write })).rejects.toThrow(ServiceUnavailable);
  expect(writes).toBe(10);
});

it('43: an object that is replaced before its values are read is looked at again', async () => {
  const { files, parquet, publish } = createFiles();
  await publish(OLD);
  const readMetadata: ParquetFiles['readMetadata'] = async (head) => {
    if (head.etag === '1') await publish({ ...OLD, report_id: 'r1b' });
    return parquet.readMetadata(head);
  };
  const outcome = await publishObject(files, 'k', NEW, { ...parquet, readMetadata });
  expect(outcome).toEqual({ kept: false, before: OLD.values });
});

it('a metric that was added restates nothing, however many metrics there are', async () => {
  const sums = (count: number, spend: string) => ({
    ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`metric_${at}`, '1'])),
    spend,
  });
  const { files, publish } = createFiles();
  const id = 'é'.repeat(256);
  const large = (count: number, spend: string, at: number) =>
    day(id, `2026-11-0${at}T00:00:00.000Z`, { rows: 1, sums: sums(count, spend) }, `h${count}`);
  await publish(large(100, '1', 1));
  expect(await publish(large(101, '1', 2))).toEqual({ kept: false, tookOver: true });
  const other = { kept: false, before: { rows: 1, sums: sums(101, '1') } };
  expect(await publish(large(101, '2', 3))).toEqual(other);
  expect(await publish(large(101, '2', 3))).toEqual(other);
  const { metadata } = (await files.head('k')) ?? { metadata: {} };
  expect(Buffer.byteLength(Object.entries(metadata).flat().join(''))).toBeLessThan(2_048);
});
