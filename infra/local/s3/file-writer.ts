import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { discardBody, type Received, receiveBody, type Write } from './body.ts';
import type { Call } from './call.ts';

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

/** Writes a request's body to a new file, then calls `use`. Removes the file if either fails. */
export async function receiveFile<Result>(
  { request, sink }: Call,
  path: string,
  use: (received: Received) => Promise<Result>,
): Promise<Result> {
  const writer = openFileWriter(path);
  try {
    const received = await (sink ? discardBody(request) : receiveBody(request, writer.write));
    await writer.close();
    return await use(received);
  } catch (error) {
    // On a full disk, close() fails too. The file must be removed anyway.
    await writer.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}
