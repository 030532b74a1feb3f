import {
  InvalidToken,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  SFNClient,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn';
import { inTime } from './in-time.ts';
import { ONE_TRY } from './one-try.ts';
import { asServiceError } from './service-error.ts';

/** Says what a task comes to that waits for its token. A token must not be logged. Each throws AccessRefused or ServiceUnavailable. */
export interface TaskAnswer {
  /** @param output the state's; 256 KB as JSON at most */
  succeed(token: string, output: unknown): Promise<void>;
  /** @param error 256 characters at most @param cause 32,768 characters at most */
  fail(token: string, error: string, cause: string): Promise<void>;
}

export function openTaskAnswer(): TaskAnswer {
  const client = new SFNClient(ONE_TRY);
  const refused = (permission: string) => (error: unknown) => {
    if (!isClosed(error)) throw asServiceError(error, 'end the task of the state machine', permission);
  };
  return {
    async succeed(taskToken, output) {
      const command = new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(output) });
      await client.send(command, inTime()).catch(refused('states:SendTaskSuccess'));
    },
    async fail(taskToken, error, cause) {
      const command = new SendTaskFailureCommand({ taskToken, error, cause });
      await client.send(command, inTime()).catch(refused('states:SendTaskFailure'));
    },
  };
}

/** The try of this token is over: it was answered before, or has timed out, and then there is another one. */
function isClosed(error: unknown): boolean {
  return [TaskTimedOut, TaskDoesNotExist, InvalidToken].some((closed) => error instanceof closed);
}
