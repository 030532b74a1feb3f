import type { AccountsResult } from '../../../../functions/workflow/states.ts';
import { type Clock, scaledClock } from '../../../lab/local/clock.ts';
import { startLocal } from '../../../lab/local/local-run.ts';
import { newestChange } from '../../../lab/local/s3/store.ts';
import { showProgress } from '../../../lab/local/step-functions/progress.ts';
import { adviseLocally, outcomeOf } from '../../executions/outcome.ts';
import { UsageError } from '../../place/errors.ts';
import { configFile, loadConfig } from '../../place/load-config.ts';
import { keepPlatform } from '../../place/target-platform.ts';
import { catchInterrupt } from '../interrupt.ts';
import { warn } from '../layout.ts';
import { exportMissing, findFinish, firstQuery } from './after-run.ts';
import { checkRun, type LocalRunOptions } from './check-run.ts';
import { executionName } from './find-request.ts';
import { lockFolder } from './out-lock.ts';
import { createPlatformAccess } from './platform-access.ts';

/**
 * Runs the workflow on this machine, against the platform that the options name or against a sandbox.
 *
 * @returns its outcome, and the command that queries what was delivered or that finishes the run
 * @throws UsageError with every fault of the command line, the request and the config, before anything is
 * started
 */
export async function runLocal(name: string | undefined, runOptions: LocalRunOptions) {
  const { daily = 1, out } = runOptions;
  // A clock that is faster starts in the past, so that it ends before now.
  const lead = Math.min((runOptions.speed - 1) * FAST_RUNS_MS, BETWEEN_DAYS_MS / 2);
  const first = Date.now() - (daily - 1) * BETWEEN_DAYS_MS - lead;
  // A table keeps the report that was created last, so the clock starts after the times of all runs.
  const newest = (await newestChange(out)) ?? 0;
  if (daily > 1 && newest >= first)
    throw new UsageError([
      `--daily ${daily} begins on ${new Date(first).toISOString().slice(0, 10)}, and --out ${out} has a later run: name another folder`,
    ]);
  let start = Math.max(first, newest + 1);
  for (let day = 1; ; day += 1, start += BETWEEN_DAYS_MS) {
    const clock = scaledClock(runOptions.speed, start, true);
    const run = await runOnce(name, runOptions, clock, daily - day + 1);
    if (day === daily || run.outcome.outcome !== 'delivered') return run;
  }
}

/** Between two runs of `--daily`, by the run's clock. */
const BETWEEN_DAYS_MS = 24 * 60 * 60 * 1000;

/** Some fast runs in a row take less, by the machine's clock. */
const FAST_RUNS_MS = 60_000;

async function runOnce(
  name: string | undefined,
  runOptions: LocalRunOptions,
  clock: Clock,
  runsLeft: number,
) {
  const { daily = 1 } = runOptions;
  const { input, requests, options, warnings } = await checkRun(name, runOptions, new Date(clock.now()));
  for (const warning of warnings) warn(warning);

  await using _lock = await lockFolder(options.out);
  await keepPlatform(options.out, options);
  await using platform = await createPlatformAccess(options, clock, requests);
  await using local = await startLocal({
    ...platform,
    credentials: Object.fromEntries(requests.map(({ account }) => [account, platform.credentialOf(account)])),
    out: options.out,
    clock,
    config: loadConfig(),
    configFile: configFile(),
  });
  const [request] = requests;
  const execution = local.export(input, executionName(request, new Date(clock.now())));
  using interrupt = catchInterrupt();
  interrupt.signal.addEventListener('abort', () => execution.abort());
  const date = new Date(clock.now()).toISOString().slice(0, 'YYYY-MM-DD'.length);
  const title = daily > 1 ? `run ${daily - runsLeft + 1} of ${daily}, ${date}` : undefined;
  await showProgress(execution, local, process.stderr, title);
  const result = await execution.result;
  const exited = execution.history.events.find(
    ({ type, state }) => type === 'StateExited' && state === 'ExportAccounts',
  );
  const accounts = exited && (exited.output as AccountsResult).accounts;
  // Then everything is delivered, and only the event was not sent.
  const isPublished = execution.history.events.some(
    ({ type, state }) => type === 'StateEntered' && state === 'AnnounceExport',
  );
  const finish = isPublished
    ? exportMissing(request, options.out)
    : await findFinish(execution.name, options.out, runsLeft);
  const outcome = outcomeOf({ name: execution.name, ...result, accounts }, finish);
  if (outcome.outcome === 'delivered')
    return { outcome, query: firstQuery(request, { out: options.out, bucket: local.bucket }) };
  if (!('error' in outcome)) return { outcome, finish };
  return { outcome: adviseLocally(outcome, { ...options, account: request.account }), finish };
}
