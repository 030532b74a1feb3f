import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { identifier } from '../../../../functions/tables/sql.ts';
import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import type { AccountsResult } from '../../../../functions/workflow/states.ts';
import { catalogName, TABLES_PREFIX, tableOf } from '../../../../functions/workflow/table.ts';
import { type Clock, scaledClock } from '../../../lab/local/clock.ts';
import { startLocal } from '../../../lab/local/run.ts';
import { newestChange } from '../../../lab/local/s3/store.ts';
import { showProgress } from '../../../lab/local/step-functions/progress.ts';
import { startSandbox } from '../../../lab/sandbox/sandbox.ts';
import { PROGRAM } from '../../../package.ts';
import { findLocalRuns } from '../../days/local-runs.ts';
import { commandFor, commandLine, exportDaysCommand, quote } from '../../days/next-command.ts';
import { adviseLocally, outcomeOf } from '../../executions/outcome.ts';
import { configFile, loadConfig } from '../../place/config.ts';
import { UsageError } from '../../place/errors.ts';
import { credentialFile, keepPlatform } from '../../place/platform.ts';
import { catchInterrupt } from '../interrupt.ts';
import { warn } from '../layout.ts';
import { servingOptions } from '../sandbox.ts';
import { checkRun, type LocalRunOptions } from './check-run.ts';
import { lockFolder } from './out-lock.ts';
import { executionName } from './request.ts';

/**
 * Runs the workflow on this machine, against the platform that the options name or against a sandbox.
 *
 * @returns its outcome, and the command that queries what was delivered or that finishes the run
 * @throws UsageError with every fault of the command line, the request and the config, before anything is
 * started
 */
export async function runLocal(name: string | undefined, given: LocalRunOptions) {
  const { daily = 1, out } = given;
  // A clock that is faster starts in the past, so that it ends before now.
  const lead = Math.min((given.speed - 1) * FAST_RUNS_MS, DAY_MS / 2);
  const first = Date.now() - (daily - 1) * DAY_MS - lead;
  // A table keeps the report that was created last, so the clock starts after the times of all runs.
  const newest = (await newestChange(out)) ?? 0;
  if (daily > 1 && newest >= first)
    throw new UsageError([
      `--daily ${daily} begins on ${new Date(first).toISOString().slice(0, 10)}, and --out ${out} has a later run: name another folder`,
    ]);
  let start = Math.max(first, newest + 1);
  for (let day = 1; ; day += 1, start += DAY_MS) {
    const clock = scaledClock(given.speed, start, true);
    const run = await runOnce(name, given, clock, daily - day + 1);
    if (day === daily || run.outcome.outcome !== 'delivered') return run;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Some fast runs in a row take less, by the machine's clock. */
const FAST_RUNS_MS = 60_000;

async function runOnce(name: string | undefined, given: LocalRunOptions, clock: Clock, runsLeft: number) {
  const { daily = 1 } = given;
  const { input, requests, options, warnings } = await checkRun(name, given, new Date(clock.now()));
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
    ? exportDaysCommand(request, request, { local: true, out: options.out }, true)
    : await findFinish(execution.name, options.out, runsLeft);
  const outcome = outcomeOf({ name: execution.name, ...result, accounts }, finish);
  if (outcome.outcome === 'delivered')
    return { outcome, query: firstQuery(request, { out: options.out, bucket: local.bucket }) };
  if (!('error' in outcome)) return { outcome, finish };
  return { outcome: adviseLocally(outcome, { ...options, account: request.account }), finish };
}

/**
 * The command that finishes a run. A run that ended before PlanExport wrote it has nothing to finish, so its
 * command starts it again.
 */
async function findFinish(execution: string, out: string, runsLeft: number): Promise<string> {
  const runs = await findLocalRuns(execution, out);
  if (runs.length === 0) return commandLine(withDaily(process.argv.slice(2), runsLeft));
  return commandFor(['resume', execution], {}, { local: true, out });
}

/** Runs of earlier days are in the folder, which would refuse them again: only the days that are left are named. */
export function withDaily(args: readonly string[], runsLeft: number): string[] {
  return args.map((arg, at) =>
    args[at - 1] === '--daily' ? String(runsLeft) : arg.replace(/^--daily=.*$/, `--daily=${runsLeft}`),
  );
}

/** A minute: two runs, one after the other, show restated days. With --daily, a day is one. */
const RESTATED_EVERY_HOURS = 1 / 60;

async function createPlatformAccess(
  { baseUrl, revision, credential, restatedDays: days, daily }: LocalRunOptions,
  clock: Clock,
  requests: readonly ExportRequest[],
) {
  if (baseUrl !== undefined && revision !== undefined && credential !== undefined)
    return {
      baseUrl,
      revision,
      credentialOf: (account: string) => ({ file: credentialFile(credential, account) }),
      async [Symbol.asyncDispose]() {},
    };
  const everyHours = daily === undefined ? RESTATED_EVERY_HOURS : 24;
  const sandbox = await startSandbox({
    ...servingOptions(clock.speed, requests),
    ...(days !== undefined && { report: { restated: { days, everyHours } } }),
    now: clock.now,
  });
  const text = JSON.stringify({ client_id: sandbox.clientId, client_secret: sandbox.clientSecret });
  return {
    baseUrl: sandbox.baseUrl,
    revision: sandbox.revision,
    credentialOf: () => ({ text }),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/** The command that queries the table that a local run has written; undefined if there is none. */
export function firstQuery(
  request: ExportRequest,
  { out, bucket }: { readonly out: string; readonly bucket: string },
): string | undefined {
  const table = tableOf(request);
  if (table === undefined || !existsSync(join(out, bucket, TABLES_PREFIX, table))) return undefined;
  // A name that begins with a digit, or is a word of SQL, needs quotes.
  const sql = quote(`SELECT * FROM ${identifier(catalogName(table))} LIMIT 10`);
  return `${PROGRAM} query --local ${out === 'out' ? '' : `--out ${quote(out)} `}${sql}`;
}
