import { closeSync, openSync, writeSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { discardBody, type Received, receiveBody } from './body.ts';
import type { Call } from './call.ts';

/**
 * Writes the body of a request to a new file. Writes synchronously: the system only copies the chunk to memory, which takes less
 * CPU than handing it to another thread, and the chunk can be collected at once.
 */
async function writeFile(request: IncomingMessage, path: string): Promise<Received> {
  const file = openSync(path, 'wx');
  try {
    return await receiveBody(request, (chunk) => {
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
    });
  } finally {
    closeSync(file);
  }
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
  try {
    return await use(await (sink ? discardBody(request) : writeFile(request, path)));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
