import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type AwsCli, createAwsCli } from './aws-cli.ts';
import { confirmPlan, describePlan } from './confirmation.ts';
import { rehearse } from './life.ts';
import { createNames } from './names.ts';
import { createProcesses, Interrupted, type Processes } from './processes.ts';
import { copyProject, ROOT } from './project.ts';
import { removeAll } from './removal.ts';
import { createReport, redact, renderResult } from './report.ts';
import { createSessions } from './sessions.ts';
import { openAws } from './targets/aws.ts';
import { type Emulation, startEmulator } from './targets/emulator.ts';
import type { Target } from './targets/target.ts';

const RESULTS = {
  emulator: fileURLToPath(new URL('RESULT.md', import.meta.url)),
  aws: fileURLToPath(new URL('RESULT-AWS.md', import.meta.url)),
};

/** A rehearsal needs that many minutes of one day in UTC. */
const MINUTES = { emulator: 30, aws: 90 };

const { values: options } = parseArgs({
  options: {
    /** Rehearses in the AWS account and Region of the environment. */
    aws: { type: 'boolean', default: false },
    /** With --aws: the emulator is that account. */
    emulated: { type: 'boolean', default: false },
    yes: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

/** Goes through the life of a stack. test/README.md (The rehearsal) says more. @returns the exit status */
async function main(): Promise<number> {
  const isInAws = options.aws && !options.emulated;
  const minutes = isInAws ? MINUTES.aws : MINUTES.emulator;
  if (new Date(Date.now() + minutes * 60_000).getUTCDate() !== new Date().getUTCDate())
    throw new Error(`It needs ${minutes} minutes of one day in UTC. Start it when the next day has begun.`);
  const processes = createProcesses(options.keep);
  const names = createNames();
  const aws = createAwsCli(processes);
  const sessions = createSessions(aws);
  const present = copyProject(processes, sessions);
  const target = await openTarget({ processes, project: present }, aws);
  if (options.aws) await confirmPlan(describePlan(target, names), options.yes);

  const report = createReport(target.refusals);
  const stage = { target, names, processes, aws, sessions, report, present };
  let status = await finish(processes, () => rehearse(stage));
  if (status !== 0) console.error(target.refusals().join('\n'));
  // What fails on the emulator ends with it, and its logs should show the failure.
  const remains = status === 0 || options.aws ? await remove(names.stack) : [];
  if (remains.length > 0) status ||= 1;
  if (status !== 0) return status;
  const { proved, notShown, versions } = target;
  const contents = { ...report.contents(), command: describeCommand(), proved, notShown };
  const about = { ...(await describeThisMachine(processes)), ...versions };
  const result = redact(renderResult({ ...contents, versions: about }), { ...target, ...names });
  if (options.emulated) console.log(`\n${result}`);
  else writeFileSync(isInAws ? RESULTS.aws : RESULTS.emulator, result);
  return 0;
}

/** Runs it until it ends, fails or is interrupted. @returns the exit status */
async function finish({ interrupted, folder }: Processes, work: () => Promise<void>): Promise<number> {
  try {
    await Promise.race([work(), interrupted]);
    return 0;
  } catch (error) {
    console.error((error as Error).message);
    if (options.keep) console.error(`The logs are in ${folder}`);
    return error instanceof Interrupted ? error.status : 1;
  }
}

/** @returns what remains, a line each */
async function remove(stack: string): Promise<string[]> {
  console.log('Removing everything. A second Ctrl-C leaves the rest.');
  const remains = await removeAll(stack).catch((error: Error) => [
    `Nothing is known of what remains. Look for names that begin with ${stack}: ${error.message}`,
  ]);
  for (const line of remains) console.error(line);
  return remains;
}

async function openTarget(emulation: Emulation, aws: AwsCli): Promise<Target> {
  if (!options.aws) {
    if (options.emulated || options.yes) throw new Error('--emulated and --yes need --aws.');
    return startEmulator(emulation);
  }
  if (!options.emulated) return openAws(aws);
  const emulator = await startEmulator(emulation);
  await emulator.bootstrap();
  const { isComplete, proved, versions, refusals } = emulator;
  const opened = await openAws(aws);
  const notShown = [...emulator.notShown, ...opened.notShown];
  return { ...opened, isComplete, proved, versions, refusals, notShown };
}

function describeCommand(): string {
  const flags = Object.entries({ aws: options.aws, emulated: options.emulated }).filter(([, is]) => is);
  return [
    'npm run rehearse',
    ...(flags.length > 0 ? ['--'] : []),
    ...flags.map(([name]) => `--${name}`),
  ].join(' ');
}

async function describeThisMachine({ run }: Processes): Promise<Record<string, string>> {
  const describe = ['describe', '--always', '--dirty', '--abbrev=12'];
  const commit = run('git', describe, { cwd: ROOT }).catch(() => 'unknown, without git');
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: (await commit).trim(),
    machine: `${process.platform}, ${process.arch}, Node ${process.versions.node}`,
  };
}

try {
  process.exit(await main());
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
