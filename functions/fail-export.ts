import * as z from 'zod/mini';
import { openTaskAnswer, type TaskAnswer } from './aws/task-answer.ts';
import { onlyMissingSince } from './decisions/missing.ts';
import { step } from './workflow/step.ts';

const FailExportInput = z.object({
  /** Of this try. Whoever may answer for the state machine could end it with this, until it is answered. */
  task_token: z.string(),
  /** The card, and its error. */
  failure: z.unknown(),
  error: z.string(),
  /** How often the execution had been redriven when the card was made, and by now. */
  redrives_before: z.number(),
  redrives: z.number(),
  /** The execution's, and when it began. */
  input: z.unknown(),
  started_at: z.string(),
});
type FailExportInput = z.infer<typeof FailExportInput>;

interface Dependencies {
  readonly answer: TaskAnswer;
}

/**
 * Ends the execution with the card: its Error is the card's, its Cause the card as JSON. A Fail state could do that, but a
 * redrive enters the state that failed once more, and a Fail can only fail again. This one then gives the execution's input
 * on, asking only for the windows that were not delivered. Throwing the card would not do: Lambda wraps what is thrown.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function failExport(
  { task_token, failure, error, redrives_before, redrives, input, started_at }: FailExportInput,
  { answer }: Dependencies,
): Promise<void> {
  if (redrives > redrives_before) await answer.succeed(task_token, missingSince(started_at, input));
  else await answer.fail(task_token, error, JSON.stringify(failure));
}

/** An input that is no object was what failed, and will again. */
function missingSince(started_at: string, input: unknown): unknown {
  const isRequest = typeof input === 'object' && input !== null && !Array.isArray(input);
  return isRequest ? onlyMissingSince(started_at, input) : input;
}

export const handler = step(FailExportInput, failExport, () => ({ answer: openTaskAnswer() }));
