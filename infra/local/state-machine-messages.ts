import type { ClockAnchor } from './clock.ts';
import type { Definition } from './definition.ts';
import type { ExecutionResult, HistoryEvent } from './history.ts';
import type { TaskFailure } from './task-error.ts';

/** What passes between the interpreter's thread and its parent. */

export interface MachineData {
  readonly definition: Definition;
  readonly clock: ClockAnchor;
  /** Names of the Task states. */
  readonly tasks: readonly string[];
}

export interface Start {
  readonly name: string;
  readonly input: unknown;
  readonly machine: { readonly arn: string; readonly name: string };
}

/** One try of a Task state. */
export interface TaskCall {
  readonly task: number;
  readonly execution: string;
  readonly state: string;
  readonly input: unknown;
}

export type ToMachine =
  | { readonly start: Start }
  | { readonly abort: string }
  | { readonly task: number; readonly output?: unknown; readonly failure?: TaskFailure };

export type FromMachine =
  /** The definition is valid, and executions can start. */
  | { readonly ready: true }
  | TaskCall
  | { readonly event: HistoryEvent; readonly execution: string }
  | { readonly ended: string; readonly result: ExecutionResult };
