import { expect } from 'vitest';
import type { Workflow } from './workflow.ts';

/** What the sandbox's tokens, secrets, keys and URL signatures begin with. */
export const CANARY = /sbx_(at|rt|cs|ak|code|sig)_[\w-]+/g;

/** P6, of everything that a run has written but the reports. */
export async function expectNoSecretWritten(workflow: Workflow): Promise<void> {
  const written = await workflow.everythingWritten();
  expect(written.length).toBeGreaterThan(10_000);
  expect(written.match(CANARY)).toBeNull();
}
