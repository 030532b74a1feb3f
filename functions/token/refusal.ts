import * as z from 'zod/mini';
import { CredentialUnusable, errors, LoginRequired, readMessage } from '../workflow/errors.ts';

/** What is cached in a token's place where the platform has refused the credential that one was requested with. */
export const Refusal = z.object({
  /** The version of the credential secret that was refused: whoever stores another is asked for again. */
  credential: z.string(),
  error: z.enum(['CredentialUnusable', 'LoginRequired']),
  message: z.string(),
});
export type Refusal = z.infer<typeof Refusal>;

export function isRefusal(cached: object): cached is Refusal {
  return 'credential' in cached;
}

/** What to remember of a failed token request; undefined where it may go better the next time. */
export function refusalOf(error: unknown, credential: string): Refusal | undefined {
  if (!(error instanceof CredentialUnusable || error instanceof LoginRequired)) return undefined;
  return { credential, error: error.name, message: error.message };
}

/**
 * Fails as the request failed that was refused, its request_id included, and makes none.
 *
 * @throws CredentialUnusable, LoginRequired
 */
export function failAsBefore({ error, message }: Refusal): never {
  const { happened, facts } = readMessage(message);
  throw new errors[error](happened, facts);
}
