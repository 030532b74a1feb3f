import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { Write } from './body.ts';

const BUFFERED_BYTES = 1024 * 1024;

export type FileWriter = { write: Write; close(): Promise<void> };

/** Writes a new file (or appends to one) in order, holding at most about 1 MiB of it in memory. */
export function fileWriter(path: string, flags: 'wx' | 'a' = 'wx'): FileWriter {
  const stream = createWriteStream(path, { flags, highWaterMark: BUFFERED_BYTES });
  const done = finished(stream);
  done.catch(() => {}); // reported by close(), or by the drain that never comes
  return {
    write: (chunk) => (stream.write(chunk) ? undefined : Promise.race([drained(stream), done])),
    close: () => {
      stream.end();
      return done;
    },
  };
}

/** A file of this size that takes no room: a client that looks its object up finds the size that it sent. */
export async function writeHole(path: string, bytes: number): Promise<void> {
  await using file = await open(path, 'w');
  await file.truncate(bytes);
}

async function drained(stream: NodeJS.WritableStream): Promise<void> {
  await once(stream, 'drain');
}
