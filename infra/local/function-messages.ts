import type { ClockAnchor } from './clock.ts';
import type { TaskFailure } from './task-error.ts';

/** What passes between a function's thread and its parent. */

export interface FunctionData {
  /** The bundled module. */
  readonly file: string;
  readonly exportName: string;
  readonly clock: ClockAnchor;
  /** NODE_OPTIONS, which a thread cannot be started with. */
  readonly nodeOptions?: string;
  /** What Lambda's context object says of the function itself. */
  readonly context: Readonly<Record<string, string>>;
}

/** One call. `event` is JSON, as Lambda has it; `deadline` is in real epoch ms. */
export interface Invocation {
  readonly event: string;
  readonly requestId: string;
  readonly deadline: number;
}

/** `ready`: the module is loaded, or could not be, which every invocation will say. `output` is JSON. */
export type Answer =
  | { readonly ready: true }
  | { readonly output: string }
  | { readonly failure: TaskFailure };
