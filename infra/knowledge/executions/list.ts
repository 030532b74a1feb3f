import type { Folder } from '../bucket.ts';
import { readStateMachineArn } from '../deployment.ts';
import type { ExecutionSummary } from './executions.ts';
import { listLocal } from './local.ts';

/** Newest first. @param limit of those that have ended */
export async function listExecutions({ local, out }: Folder, limit: number): Promise<ExecutionSummary[]> {
  if (local) return (await listLocal(out)).slice(0, limit);
  const { listDeployed } = await import('./deployed.ts');
  return listDeployed(await readStateMachineArn(), limit);
}

export interface KnownExecutions {
  /** All of a folder, or those of a stack that are running. Newest first. */
  readonly listed: readonly ExecutionSummary[];
  /** Finds another one by its name. @returns undefined if AWS has forgotten it, as after 90 days */
  find(execution: string): Promise<ExecutionSummary | undefined>;
}

export async function findExecutions({ local, out }: Folder): Promise<KnownExecutions> {
  if (local) return { listed: await listLocal(out), find: async () => undefined };
  const { findDeployed } = await import('./deployed.ts');
  return findDeployed(await readStateMachineArn());
}
