/**
 * Limits of AWS that a local run keeps as well, so that what works here does not fail there.
 */

/** Input or output of a state, and of an execution (Step Functions quota). */
export const MAX_STATE_BYTES = 256 * 1024;

/** Answer of a function that is called synchronously (Lambda quota). */
export const MAX_ANSWER_BYTES = 6 * 1024 * 1024;

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
