import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { Write } from './body.ts';

const BUFFERED_BYTES = 1024 * 1024;

export type FileWriter = { write: Write; close(): Promise<void> };

/** Creates a file and writes to it in order. Keeps about 1 MiB in memory. */
export function openFileWriter(path: string): FileWriter {
  const stream = createWriteStream(path, { flags: 'wx', highWaterMark: BUFFERED_BYTES });
  const done = finished(stream);
  done.catch(() => {}); // close() reports it, and so does a write that waits for the drain.
  return {
    write: (chunk) =>
      stream.write(chunk) ? undefined : Promise.race([once(stream, 'drain').then(() => {}), done]),
    close: () => {
      stream.end();
      return done;
    },
  };
}

/** Creates a file of this size that takes no disk space. */
export async function writeSparseFile(path: string, bytes: number): Promise<void> {
  await using file = await open(path, 'w');
  await file.truncate(bytes);
}
