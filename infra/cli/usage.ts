import { InvalidArgumentError } from 'commander';
import { printable } from './printable.ts';

export const DELIVERED = 0;
export const FAILED = 1;
export const BAD_USAGE = 2;
/** What a shell reports of a process that Ctrl-C ended. */
export const INTERRUPTED = 130;

/** The command line or its input cannot be used; nothing was started. Names every fault, one a line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.map((fault) => printable(`error: ${fault}`)).join('\n'));
    this.faults = faults;
  }
}

/** The command could not do what it was asked; says what happened and what to do next, and never a secret. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly happened: string;
  readonly todo: string;

  constructor(happened: string, todo: string) {
    super(`${happened}\nWhat to do: ${todo}`);
    this.happened = happened;
    this.todo = todo;
  }
}

/** A port to listen on; 0 lets the system choose. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return port;
}

/** How many times faster than real time. Past 1,000, a wait of 10 s is shorter than what a timer can keep. */
export function parseSpeed(text: string): number {
  const speed = Number(text);
  if (!(speed >= 1 && speed <= 1_000)) throw new InvalidArgumentError('It must be a number from 1 to 1000.');
  return speed;
}
