import type { ErrorCode } from './answers.ts';

export type Operation =
  | 'PutObject'
  | 'GetObject'
  | 'HeadObject'
  | 'DeleteObject'
  | 'ListObjectsV2'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'ListParts'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'ListMultipartUploads';

/**
 * What goes wrong, for `times` requests (once unless told) that match.
 * - an error code: refused with it, nothing is done
 * - `error inside 200`: the status is 200, the body an InternalError; nothing is done
 * - `wrong checksum`: done, but the checksum in the answer is another
 * - `reset`: the connection is reset before the body is read; nothing is done
 * - `lost answer`: done, then the connection is reset instead of an answer
 * - `stall`: the body is read and nothing is answered, until the endpoint closes
 */
export type Fault = {
  operation: Operation;
  /** Only this part number. */
  part?: number;
  /** Only keys that end so. */
  key?: string;
  times?: number;
  answer: ErrorCode | 'error inside 200' | 'wrong checksum' | 'reset' | 'lost answer' | 'stall';
};

/** Takes the first fault that matches, and uses up one of its times. */
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
