import * as z from 'zod/mini';

const FailExportInput = z.object({
  failure: z.looseObject({ error: z.string() }),
  /** How often the execution had been redriven when the card was made, and by now. */
  redrives_before: z.number(),
  redrives: z.number(),
  /** The execution's. */
  input: z.unknown(),
});
type FailExportInput = z.infer<typeof FailExportInput>;

/**
 * Ends the execution with the card: its error is the card's, and the message in its Cause is the card as JSON. A Fail
 * state could do that, but a redrive enters the state that failed once more, and a Fail can only fail again. This one
 * gives the execution's input on, asking only for the windows that were not delivered.
 *
 * @throws Error that bears the card
 */
export async function failExport({ failure, redrives_before, redrives, input }: FailExportInput) {
  if (redrives > redrives_before) return missingOnly(input);
  const error = Object.assign(new Error(JSON.stringify(failure)), { name: failure.error });
  // Lambda sends the stack as well, which begins with the message and would fill the Cause with it.
  error.stack = failure.error;
  throw error;
}

/** An input that is no object was what failed, and will again. */
function missingOnly(input: unknown): unknown {
  const isRequest = typeof input === 'object' && input !== null && !Array.isArray(input);
  return isRequest ? { ...input, only_missing: true } : input;
}

/** Without what every other step has around it: the error has to leave this function as it is. */
export const handler = async (event: unknown): Promise<unknown> =>
  failExport(z.object({ state: FailExportInput }).parse(event).state);
