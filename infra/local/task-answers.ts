import { type JsonCall, startJsonService } from './json-service.ts';
import { MAX_STATE_BYTES } from './limits.ts';
import { TaskError } from './task-error.ts';

/** An error of Step Functions', or what happens to the connection. */
export type AnswerFault = 'InternalServerError' | 'AccessDeniedException' | 'hang' | 'reset' | 'lost answer';

/** One call, without its token. */
export interface AnswerCall {
  readonly operation: string;
  readonly error?: string;
}

export interface TaskAnswers extends AsyncDisposable {
  readonly endpoint: string;
  readonly journal: readonly AnswerCall[];
  /** What the next calls come to; push one to plant it. */
  readonly faults: AnswerFault[];
  /** What the task of this token is said to have come to: its output, or a TaskError. From `close` on nobody may say. */
  wait(token: string): { readonly answer: Promise<unknown>; close(): void };
  close(): Promise<void>;
}

/** Limits of the two calls: characters, but for the output. */
const MAX_ERROR = 256;
const MAX_CAUSE = 32_768;

interface Waiting {
  resolve(output: unknown): void;
  reject(error: TaskError): void;
}

/** By token: who waits for it, or that nobody does any more. */
type Tokens = Map<string, Waiting | 'closed'>;

/** Step Functions, as far as a task's function speaks to it, on 127.0.0.1: AWS JSON 1.0, and each token is taken once. */
export async function startTaskAnswers(now?: () => number): Promise<TaskAnswers> {
  const tokens: Tokens = new Map();
  const journal: AnswerCall[] = [];
  const faults: AnswerFault[] = [];
  const service = await startJsonService(
    { target: 'AWSStepFunctions', version: '1.0', now },
    async (call) => {
      const fault = faults.shift();
      // An answer that is lost was accepted before.
      const refused = fault === undefined || fault === 'lost answer' ? take(tokens, call) : fault;
      const error = fault ?? refused;
      journal.push({ operation: call.operation, ...(error && { error }) });
      if (fault === 'hang') return;
      if (fault === 'reset' || fault === 'lost answer') call.reset();
      else if (refused) call.send(refused === 'InternalServerError' ? 500 : 400, { __type: refused });
      else call.send(200, {});
    },
  );
  return {
    endpoint: service.endpoint,
    ...{ journal, faults },
    wait(token) {
      const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>();
      answer.catch(() => {}); // whoever waits for it hears of it
      tokens.set(token, { resolve, reject });
      return { answer, close: () => void tokens.set(token, 'closed') };
    },
    close: service.close,
    [Symbol.asyncDispose]: service.close,
  };
}

/** @returns the code of the error that the call is refused with; undefined where it is accepted */
function take(tokens: Tokens, { operation, parameters }: JsonCall): string | undefined {
  const { taskToken = '', error = '', cause = '', output = '' } = parameters as Record<string, string>;
  const waiting = tokens.get(taskToken);
  if (!waiting) return 'InvalidToken';
  if (waiting === 'closed') return 'TaskTimedOut';
  if (operation === 'SendTaskFailure') {
    if (error.length > MAX_ERROR || cause.length > MAX_CAUSE) return 'ValidationException';
    waiting.reject(new TaskError({ error, cause }));
  } else if (operation === 'SendTaskSuccess') {
    if (Buffer.byteLength(output) > MAX_STATE_BYTES) return 'ValidationException';
    if (!isJson(output)) return 'InvalidOutput';
    waiting.resolve(JSON.parse(output));
  } else return 'UnknownOperationException';
  tokens.set(taskToken, 'closed');
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
