import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import { parseRequest } from '../../functions/workflow/request/request.ts';
import { configHere } from './configured.ts';
import type { RunOptions } from './run-options.ts';
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

/** The request of an export in the config, without its schedule. */
export function requestNamed(name: string): unknown {
  const { exports } = configHere();
  const found = exports.filter((entry) => entry.name === name);
  const [first] = found;
  if (!first) {
    throw new UsageError([
      `the config has no export ${name} (it has ${exports.map((entry) => entry.name).join(', ')})`,
    ]);
  }
  if (found.length > 1)
    throw new UsageError([`several accounts have an export ${name}; give the request with --input`]);
  const { schedule, ...request } = first;
  return request;
}

/** The request of an execution that exports only what is missing. What is no request stays as it is, to be refused. */
export function onlyMissing(request: unknown, { onlyMissing }: Pick<RunOptions, 'onlyMissing'>): unknown {
  const isRequest = typeof request === 'object' && request !== null && !Array.isArray(request);
  return onlyMissing && isRequest ? { ...request, only_missing: true } : request;
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
