/** One step of an execution's history, in the words of Step Functions as far as it has them. */
export interface HistoryEvent {
  readonly type: HistoryEventType;
  /** ISO 8601, by the run's clock. */
  readonly time: string;
  /** The state that it is about, or the Map of an iteration. */
  readonly state?: string;
  /** The state's type: Task, Wait, Choice … */
  readonly stateType?: string;
  /** Which item of the Map, from 0; absent outside of it. */
  readonly window?: number;
  /** Which try this is, of StateRetried. */
  readonly attempt?: number;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
}

export type HistoryEventType =
  | 'ExecutionStarted'
  | 'ExecutionSucceeded'
  | 'ExecutionFailed'
  | 'ExecutionAborted'
  | 'ExecutionTimeout'
  | 'MapIterationStarted'
  | 'MapIterationSucceeded'
  | 'MapIterationFailed'
  | 'ParallelBranchStarted'
  | 'ParallelBranchSucceeded'
  | 'ParallelBranchFailed'
  | 'StateEntered'
  | 'StateExited'
  | 'StateFailed'
  | 'StateRetried'
  | 'StateCaught';

/** How an execution ended, as DescribeExecution would say it. */
export interface ExecutionResult {
  readonly status: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
}
