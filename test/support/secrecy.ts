import { expect } from 'vitest';
import type { Workflow } from './workflow.ts';

/** What the sandbox's tokens, secrets, keys and URL signatures begin with. */
export const CANARY = /sbx_(at|rt|cs|ak|code|sig)_[\w-]+/g;

/**
 * P6, of everything that a run has written but the reports: neither a secret, in the clear or as Basic has it, nor a
 * pre-signed URL.
 *
 * @param canaries what was planted beside the sandbox's own secrets
 */
export async function expectNoSecretWritten(
  workflow: Workflow,
  canaries: readonly string[] = [],
): Promise<void> {
  const written = await workflow.everythingWritten();
  expect(written.length).toBeGreaterThan(10_000);
  expect(written.match(CANARY)).toBeNull();
  const { credentials, storageUrl } = workflow.sandbox;
  const basic = credentials.map(({ clientId, clientSecret }) => btoa(`${clientId}:${clientSecret}`));
  const found = [...basic, `${storageUrl}/`, 'signature=', ...canaries].filter((secret) =>
    written.includes(secret),
  );
  expect(found).toEqual([]);
}
