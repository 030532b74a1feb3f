import pMap, { pMapSkip } from 'p-map';
import type { ObjectStore } from '../aws/objects.ts';

/** Objects that are read at the same time. More would share the CPU of a small function. */
export const PARALLEL_READS = 10;

export interface ReadRecords<T> {
  readonly records: T[];
  /** The keys of objects that do not hold such a record. */
  readonly damaged: string[];
}

/** @param parse returns undefined if the text is no such record, or cannot be true */
export async function readAll<T>(
  store: Pick<ObjectStore, 'getText'>,
  keys: Iterable<string>,
  parse: (text: string, key: string) => Promise<T | undefined> | T | undefined,
): Promise<ReadRecords<T>> {
  const damaged: string[] = [];
  const read = async (key: string) => {
    const text = await store.getText(key);
    if (text === undefined) return pMapSkip;
    const record = await parse(text, key);
    if (record === undefined) damaged.push(key);
    return record ?? pMapSkip;
  };
  return { records: await pMap(keys, read, { concurrency: PARALLEL_READS }), damaged: damaged.toSorted() };
}
