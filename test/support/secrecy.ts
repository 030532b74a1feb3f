import { expect } from 'vitest';
import type { Workflow } from './workflow.ts';

/** The sandbox's tokens, secrets, keys and URL signatures. */
export const CANARY = /sbx_(at|rt|cs|ak|code|sig)_[\w-]+/g;

/** Checks P6 for everything that a workflow wrote, except the reports. */
export async function expectNoSecretWritten(workflow: Workflow): Promise<void> {
  const written = await workflow.everythingWritten();
  expect(written.length).toBeGreaterThan(10_000);
  expectNoSecretIn(written, workflow);
}

/** Checks that a text has no secret of the sandbox, in clear or as HTTP Basic, and no pre-signed URL. */
export function expectNoSecretIn(text: string, { sandbox }: Pick<Workflow, 'sandbox'>): void {
  expect(text.match(CANARY)).toBeNull();
  const basic = sandbox.credentials.map(({ clientId, clientSecret }) => btoa(`${clientId}:${clientSecret}`));
  const planted = [...basic, `${sandbox.storageUrl}/`, 'signature='];
  expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
}
