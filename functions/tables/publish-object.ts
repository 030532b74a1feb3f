import type { Metadata, ObjectHead, ObjectStore } from '../aws/objects.ts';
import {
  compareVersions,
  type DayValues,
  type DayVersion,
  isEqual,
  readValues,
  readVersion,
  writeMetadata,
  writeVersion,
} from '../workflow/day-metadata.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';

/** Writers of one object are runs of the same export. Each conflict means that another one has finished its write. */
const MAX_CONFLICTS = 10;

/** The result of publishing one object of a table. */
export interface Published {
  /** It shows a newer report, and still does. */
  readonly kept: boolean;
  /** The other values that it showed before. */
  readonly before?: DayValues;
  /** It showed another request, such as one for more advertisers. Not known to a retry. */
  readonly tookOver?: true;
}

/** The Parquet files of an object of a table. */
export interface ParquetFiles {
  /** Writes the new one with this key-value metadata and returns its path. */
  write(metadata: Metadata): Promise<string>;
  /**
   * Reads the key-value metadata of the one that is there.
   *
   * @param head of the object @returns undefined if another one is there now
   */
  readMetadata(head: ObjectHead): Promise<Metadata | undefined>;
}

/**
 * Makes an object of a table show a report, unless it shows a newer one. A retry changes nothing, and returns the same.
 *
 * @throws ServiceUnavailable if other writers are always faster
 * @throws AccessRefused
 */
export async function publishObject(
  store: Pick<ObjectStore, 'head' | 'putFile'>,
  key: string,
  { values, ...version }: DayVersion & { readonly values: DayValues },
  parquet: ParquetFiles,
): Promise<Published> {
  for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
    const head = await store.head(key);
    const existing = head && readVersion(head.metadata);
    const verdict = compareVersions(existing, version);
    if (verdict === 'keep') return { kept: true };
    const metadata = head && existing ? await parquet.readMetadata(head) : {};
    if (!metadata) continue;
    const shown = readValues(metadata);
    if (verdict === 'same') return restated(values, shown.replaced);
    const path = await parquet.write(writeMetadata(version, { values, replaced: shown.values }));
    if (!(await store.putFile(key, path, writeVersion(version), head?.etag))) continue;
    const tookOver = existing !== undefined && existing.request_hash !== version.request_hash;
    return { ...restated(values, shown.values), ...(tookOver && { tookOver }) };
  }
  throw new ServiceUnavailable(`Other runs replaced ${key} ${MAX_CONFLICTS} times in a row.`, { key });
}

function restated(values: DayValues, before: DayValues | undefined): Published {
  return { kept: false, ...(before && !isEqual(values, before) && { before }) };
}
