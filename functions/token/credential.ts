import * as z from 'zod/mini';
import { CredentialUnusable } from '../workflow/errors.ts';

/** A value with a line break was pasted with one too many; sent in a header, it would be refused far from its cause. */
const value = z
  .string('is missing or not a string')
  .check(
    z.minLength(1, 'is empty'),
    z.regex(/^[\x21-\x7e]*$/, 'holds a line break, a space or another character that no such value has'),
  );

/** The account's credential secret: one of two forms (contract 5.2, 5.7). */
const OAuthCredential = z.object({
  client_id: value,
  client_secret: value,
  refresh_token: z.optional(value),
});
export type OAuthCredential = z.infer<typeof OAuthCredential>;

const ApiKeyCredential = z.object({ api_key: value });
export type ApiKeyCredential = z.infer<typeof ApiKeyCredential>;

export type Credential = OAuthCredential | ApiKeyCredential;

/**
 * Reads the text of a credential secret.
 *
 * @throws CredentialUnusable naming the fields that are wrong, never a value
 */
export function parseCredential(text: string, account: string): Credential {
  const parsed = parseJson(text);
  const schema = isObject(parsed) && 'api_key' in parsed ? ApiKeyCredential : OAuthCredential;
  const result = schema.safeParse(parsed, { error: () => 'is not a JSON object' });
  if (result.success) return result.data;
  const faults = result.error.issues.map(
    (issue) => `${issue.path.join('.') || 'the secret'} ${issue.message}`,
  );
  const form = '{"client_id","client_secret"} or {"api_key"}';
  throw new CredentialUnusable(
    `The credential of account ${account} cannot be used: ${faults.join('; ')}. Store it as ${form}.`,
    { account, faults },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes what it read.
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
