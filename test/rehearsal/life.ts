import { billOf, totalOf } from './bill.ts';
import { measureUsage } from './meter.ts';
import { createObserver } from './observer/observer.ts';
import { EARLIER_COMMIT, installEarlier } from './project.ts';
import type { DeployedStage, Stage } from './stage.ts';
import { changeAndDelete } from './steps/end.ts';
import { runExports } from './steps/exports.ts';
import { deployStack } from './steps/first-stack.ts';
import { usePolicies } from './steps/policies.ts';
import { destroySandbox, trySandbox } from './steps/sandbox-stacks.ts';
import { runScheduled } from './steps/two-accounts.ts';

/** Goes through the life of a stack, from the bootstrap to what its deletion leaves. */
export async function rehearse(
  stage: Omit<Stage, 'earlier' | 'platform' | 'observer' | 'minutesToDeploy'>,
): Promise<void> {
  const { target, report, present, processes, aws, names } = stage;
  const began = new Date();
  await report.step('bootstrap', target.bootstrap);
  const earlier = await installEarlier(processes);
  if (!earlier) report.leaveOut('an update', `git has no commit ${EARLIER_COMMIT.slice(0, 12)} here`);
  const { served, minutesToDeploy } = await trySandbox(stage);
  const platform = target.platform ?? served;
  const observer = createObserver({ aws, project: present, name: names.observer, folder: processes.folder });
  const deployed = await deployStack({ ...stage, earlier, platform, observer, minutesToDeploy });
  await runExports(deployed);
  const checkThere = await runScheduled(deployed);
  await usePolicies(deployed);
  await checkThere();
  await report.step('the bill', () => charge(deployed, began));
  await changeAndDelete(deployed);
  await destroySandbox(stage);
}

async function charge(stage: DeployedStage, began: Date): Promise<string> {
  const lines = billOf(await measureUsage(stage, began));
  stage.report.charge(lines);
  return `$${totalOf(lines).toFixed(2)} by list prices`;
}
