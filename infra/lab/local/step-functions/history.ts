import type { StateMachine } from 'aws-local-stepfunctions';

export type InterpreterEvent =
  ReturnType<StateMachine['run']>['eventLogs'] extends AsyncGenerator<infer Event> ? Event : never;

/** One event of an execution's history. */
export interface HistoryEvent {
  /** Has the names of Step Functions where it has the same event. */
  readonly type: InterpreterEvent['type'];
  /** ISO 8601, by the run's clock. */
  readonly time: string;
  /** The state that the event is about. For an iteration, its Map state. */
  readonly state?: string;
  /** Task, Wait, Choice … */
  readonly stateType?: string;
  /** The item of the Map, from 0. Absent outside of a Map. */
  readonly window?: number;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
}

/** The end of an execution, with the fields of DescribeExecution. */
export interface ExecutionResult {
  readonly status: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
}

/** An execution in history.json. */
export interface ExecutionHistory {
  readonly execution: string;
  /** Absent while the execution runs. */
  result?: ExecutionResult;
  readonly events: HistoryEvent[];
}
