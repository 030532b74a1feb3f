import type { ServerResponse } from 'node:http';
import { type Answer, type ErrorCode, errorXml, S3Error } from './answers.ts';
import type { Call, Operation } from './call.ts';

/** Makes matching requests fail. */
export type Fault = {
  operation: Operation;
  /** Only this part number. */
  part?: number;
  /** Only keys with this ending. */
  key?: string;
  /** How many requests fail. Default: 1. */
  times?: number;
  /**
   * - an error code: the request gets this error and is not processed
   * - `error inside 200`: the response is 200 with an InternalError in its body; the request is not processed
   * - `wrong checksum`: the request is processed, but the response has another checksum
   * - `reset`: the connection is reset; the request is not processed
   * - `lost answer`: the request is processed, then the connection is reset
   * - `stall`: the body is read, but no response comes; the request is not processed
   */
  answer: ErrorCode | 'error inside 200' | 'wrong checksum' | 'reset' | 'lost answer' | 'stall';
};

/** Returns the first fault that matches, and counts down its `times`. */
export function takeFault(
  faults: Fault[],
  request: { operation: Operation; key: string; part?: number | undefined },
): Fault['answer'] | undefined {
  const fault = faults.find(
    ({ operation, part, key, times = 1 }) =>
      times > 0 &&
      operation === request.operation &&
      (part === undefined || part === request.part) &&
      (key === undefined || request.key.endsWith(key)),
  );
  if (fault === undefined) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  return fault.answer;
}

/** Processes a request that a fault affects. @returns undefined if no response must be sent */
export async function handleWithFault(
  fault: Fault['answer'],
  handle: (call: Call) => Promise<Answer>,
  call: Call,
  response: ServerResponse,
): Promise<Answer | undefined> {
  if (fault === 'lost answer') await handle(call);
  if (fault === 'lost answer' || fault === 'reset') return void response.socket?.resetAndDestroy();
  if (fault === 'wrong checksum') return withWrongChecksum(await handle(call));
  if (fault !== 'stall' && fault !== 'error inside 200') throw new S3Error(fault);
  call.request.resume();
  if (fault === 'stall') return undefined;
  return { status: 200, body: errorXml('InternalError', 'We encountered an internal error.') };
}

function withWrongChecksum(answer: Answer): Answer {
  const headers = { ...answer.headers };
  if (headers['x-amz-checksum-crc32'] !== undefined) headers['x-amz-checksum-crc32'] = 'AAAAAA==';
  if (typeof answer.body !== 'string') return { ...answer, headers };
  return { ...answer, headers, body: answer.body.replace(/(<ChecksumCRC32>)[^<]*/, '$1AAAAAA==') };
}
