import { EMULATOR, startCloud } from './cloud.ts';
import { ACCOUNTS, rehearse, SOON } from './life.ts';
import { startPlatform } from './platform.ts';
import { createProcesses } from './processes.ts';
import { copyProject, EARLIER_COMMIT, installEarlier, ROOT } from './project.ts';
import { createReport } from './report.ts';

/** Goes through the life of a stack on an emulator of AWS. test/README.md (The rehearsal) says more. */
if (new Date(Date.now() + 20 * 60_000).getUTCDate() !== new Date().getUTCDate())
  throw new Error('It needs 20 minutes of one day in UTC. Start it when the next day has begun.');
const keeps = process.argv.includes('--keep');
const processes = createProcesses(keeps);
const report = createReport();
try {
  const credentials = ACCOUNTS.map((account) => ({ account }));
  const { sandbox, ports } = await startPlatform({ credentials, report: SOON });
  const present = copyProject(processes);
  const earlier = await installEarlier(processes);
  if (!earlier) report.leaveOut('an update', `git has no commit ${EARLIER_COMMIT.slice(0, 12)} here`);
  await report.step('start the emulator', async () => {
    report.refusals = await startCloud(processes, ports);
    return 'with IAM and TLS, on 127.0.0.1';
  });
  await rehearse({ folder: processes.folder, sandbox, report, present, earlier });
  const describe = ['describe', '--always', '--dirty', '--abbrev=12'];
  const commit = processes.run('git', describe, { cwd: ROOT }).catch(() => 'unknown, without git');
  report.write({
    date: new Date().toISOString().slice(0, 10),
    commit: (await commit).trim(),
    emulator: `${EMULATOR}, ${(await processes.run('python3', ['--version'])).trim()}`,
    machine: `${process.platform}, ${process.arch}, Node ${process.versions.node}`,
  });
  process.exit(0);
} catch (error) {
  console.error([(error as Error).message, ...report.refusals()].join('\n'));
  if (keeps) console.error(`The logs are in ${processes.folder}`);
  process.exit(1);
}
