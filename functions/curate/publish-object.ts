import type { ObjectFiles } from '../aws/object-files.ts';
import {
  compareVersions,
  type DayMetadata,
  type DayValues,
  type DayVersion,
  isEqual,
  readMetadata,
  writeMetadata,
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
}

/** Writes the Parquet file with this metadata and returns its path. */
export type WriteFile = (metadata: Readonly<Record<string, string>>) => Promise<string>;

/**
 * Makes an object of a table show a report, unless it shows a newer one. A retry changes nothing, and returns the same.
 *
 * @throws ServiceUnavailable if other writers are always faster
 * @throws AccessRefused
 */
export async function publishObject(
  files: Pick<ObjectFiles, 'head' | 'put'>,
  key: string,
  ours: DayVersion & { readonly values: DayValues },
  write: WriteFile,
): Promise<Published> {
  for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
    const head = await files.head(key);
    const existing = head && readMetadata(head.metadata);
    const verdict = compareVersions(existing, ours);
    if (verdict === 'keep') return { kept: true };
    if (verdict === 'same') return restated(ours.values, existing?.replaced);
    const day: DayMetadata = { ...ours, replaced: existing?.values };
    const path = await write(writeMetadata(day, Number.POSITIVE_INFINITY));
    if (await files.put(key, path, writeMetadata(day), head?.etag))
      return restated(ours.values, day.replaced);
  }
  throw new ServiceUnavailable(`Other runs replaced ${key} ${MAX_CONFLICTS} times in a row.`, { key });
}

function restated(values: DayValues, before: DayValues | undefined): Published {
  return { kept: false, ...(before && !isEqual(values, before) && { before }) };
}
