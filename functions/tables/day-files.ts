import { rename, rm } from 'node:fs/promises';
import type { ObjectEnd, ObjectStore } from '../aws/objects.ts';
import { footerLength } from './parquet.ts';
import type { ParquetFiles } from './publish-object.ts';
import type { OpenReport } from './report.ts';

/** Holds the footer of a day of 500,000 rows with 60 columns. A larger one takes a second call. */
const END_BYTES = 32 * 1024;

/** Returns the files of a day, which live until they are disposed of. */
export function createDayFiles(
  report: Pick<OpenReport, 'writeDay' | 'readMetadata'>,
  store: Pick<ObjectStore, 'readEnd'>,
): (key: string, day: string) => ParquetFiles & AsyncDisposable {
  const inTurn = createQueue();
  return (key, day) => {
    let path: string | undefined;
    return {
      write: (metadata) =>
        inTurn(async () => {
          const written = await report.writeDay(day, metadata);
          path = `${written}.${day}`;
          await rename(written, path);
          return path;
        }),
      async readMetadata({ etag }) {
        const end = await readFooter(store, key, etag);
        return end && inTurn(() => report.readMetadata(end));
      },
      async [Symbol.asyncDispose]() {
        if (path !== undefined) await rm(path, { force: true });
      },
    };
  };
}

async function readFooter(
  store: Pick<ObjectStore, 'readEnd'>,
  key: string,
  etag: string,
): Promise<ObjectEnd | undefined> {
  const end = await store.readEnd(key, etag, END_BYTES);
  if (!end || footerLength(end) <= end.bytes.length) return end;
  return store.readEnd(key, etag, footerLength(end));
}

/** DuckDB does one thing at a time, and writes the next day to the same path. */
function createQueue(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run, run);
    last = next;
    return next;
  };
}
