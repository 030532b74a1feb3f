import type { Folder } from '../bucket.ts';
import { readStateMachineArn } from '../deployment.ts';
import { type ExecutionSummary, listLocal } from './executions.ts';

/** Newest first. @param limit of those that have ended */
export async function listExecutions({ local, out }: Folder, limit: number): Promise<ExecutionSummary[]> {
  if (local) return (await listLocal(out)).slice(0, limit);
  const { listDeployed } = await import('./deployed.ts');
  return listDeployed(await readStateMachineArn(), limit);
}
