import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import { parseRequest } from '../../functions/workflow/request.ts';
import { UsageError } from './usage.ts';

/** Reads a request from a file, or from standard input where the file is called `-`. */
export async function readInput(file: string): Promise<unknown> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error) => {
    throw new UsageError([`--input ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  });
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new UsageError([`--input ${file} is not JSON: ${(error as Error).message}`]);
  }
}

/** Checks the request in the same way as the workflow does, so that a faulty one is never started. */
export function checkRequest(request: unknown, now = new Date()): ReturnType<typeof parseRequest> {
  try {
    return parseRequest(request, now);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new UsageError(error.facts.faults as string[]);
  }
}
