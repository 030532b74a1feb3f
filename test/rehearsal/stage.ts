import assert from 'node:assert/strict';
import type { AwsCli } from './aws-cli.ts';
import type { RehearsedConfig } from './config.ts';
import type { Outputs } from './deployed.ts';
import type { Names } from './names.ts';
import type { Observer } from './observer/observer.ts';
import type { Processes } from './processes.ts';
import type { Project } from './project.ts';
import type { Report } from './report.ts';
import type { Sessions } from './sessions.ts';
import type { Platform, Target } from './targets/target.ts';

/** What the steps of a rehearsal work with. */
export interface Stage {
  readonly target: Target;
  readonly names: Names;
  readonly processes: Processes;
  readonly aws: AwsCli;
  readonly sessions: Sessions;
  readonly report: Report;
  readonly present: Project;
  /** The project at an earlier commit. */
  readonly earlier: Project | undefined;
  readonly platform: Platform;
  readonly observer: Observer;
  /** What two stacks have taken. */
  readonly minutesToDeploy: number;
}

/** A stage with the stack of this checkout. */
export interface DeployedStage extends Stage {
  readonly config: RehearsedConfig;
  readonly outputs: Outputs;
}

const DAYS =
  'SELECT "date", count(*) AS n, sum(spend) AS spend FROM daily_campaigns GROUP BY "date" ORDER BY "date"';

export async function readDays(project: Project) {
  return (await project.read(['query', DAYS])).rows;
}

export async function countDays(project: Project, name: string) {
  return (await project.read(['missing', name])).counts;
}

export async function storeCredential({ platform }: Stage, project: Project, account: string) {
  await project.command(['secret', 'set', account], { stdin: JSON.stringify(platform.clientOf(account)) });
}

export function assertDelivered(...ends: readonly { readonly outcome: string }[]): void {
  for (const end of ends) assert.equal(end.outcome, 'delivered', JSON.stringify(end));
}
