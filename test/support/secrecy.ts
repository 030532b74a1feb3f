import { expect } from 'vitest';
import type { Workflow } from './workflow.ts';

/** What the sandbox's tokens, secrets, keys and URL signatures begin with. */
export const CANARY = /sbx_(at|rt|cs|ak|code|sig)_[\w-]+/g;

/** P6, of everything that a run has written but the reports. */
export async function expectNoSecretWritten(workflow: Workflow): Promise<void> {
  const written = await workflow.everythingWritten();
  expect(written.length).toBeGreaterThan(10_000);
  expectNoSecretIn(written, workflow);
}

/**
 * Neither a secret of the sandbox's, in the clear or as Basic has it, nor a pre-signed URL.
 *
 * @param canaries what was planted beside the sandbox's own secrets
 */
export function expectNoSecretIn(
  text: string,
  { sandbox }: Pick<Workflow, 'sandbox'>,
  canaries: readonly string[] = [],
): void {
  expect(text.match(CANARY)).toBeNull();
  const basic = sandbox.credentials.map(({ clientId, clientSecret }) => btoa(`${clientId}:${clientSecret}`));
  const planted = [...basic, `${sandbox.storageUrl}/`, 'signature=', ...canaries];
  expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
}
