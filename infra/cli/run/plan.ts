import { Command } from 'commander';
import type { RequestTarget } from '../../../functions/decisions/request-hash.ts';
import { platformName } from '../../../functions/decisions/request-hash.ts';
import { findMissing } from '../../../functions/deliveries/missing.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { exportPrefix, MANIFEST } from '../../../functions/workflow/keys.ts';
import { isOfAccounts, requestsIn } from '../../../functions/workflow/request/accounts.ts';
import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { type ExportRequest, splitRequest } from '../../../functions/workflow/request/request.ts';
import { costOf, PRICES } from '../../config/cost.ts';
import { type Folder, NO_OBJECTS, openToRead, type ReadableBucket } from '../../knowledge/bucket.ts';
import { loadConfig } from '../../knowledge/config.ts';
import { lastPlatform, targetOf } from '../../knowledge/platform.ts';
import { checkOneAccount, checkRequest } from '../../knowledge/request.ts';
import { printDocument, printLines } from '../layout.ts';
import { examples, option } from '../options.ts';
import { findRequest, type RequestOptions } from '../requests/request.ts';

/** Manifests from which the time of a report is estimated. */
const RECENT = 20;

/** If nothing was delivered yet. Seconds. */
const ASSUMED_SECONDS = 180;

interface PlanOptions extends RequestOptions, Folder {
  readonly json?: true;
}

export function createCommand(): Command {
  return new Command('plan')
    .argument('[name]', 'an export in the config; without one, use --input')
    .option('--input <file>', 'the request, a JSON file; - reads standard input')
    .addOption(option.account())
    .addOption(option.from())
    .addOption(option.to())
    .addOption(option.period())
    .option('--only-missing', 'leave out windows that the same request has already delivered')
    .addOption(option.json())
    .option('--local', 'look at the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .addHelpText('after', examples('plan daily-campaigns --from 2024-01-01 --to 2026-01-01'))
    .action(async (name: string | undefined, options: PlanOptions) => {
      const plan = await planRequest(await findRequest(name, options), options);
      if (options.json) printDocument(plan);
      else printLines(describePlan(plan));
    });
}

/** @returns the document that --json prints */
async function planRequest(input: unknown, options: PlanOptions) {
  const now = new Date();
  if (isOfAccounts(input)) checkOneAccount(String(input.name), requestsIn(input) as { account: string }[]);
  const { request, warnings, onlyMissing } = checkRequest(input, now);
  const all = splitRequest(request);
  await using store = await openToRead(options).catch((error) => {
    // Without a deployment, nothing is there.
    if (onlyMissing === undefined) return NO_OBJECTS;
    throw error;
  });
  const found = onlyMissing
    ? await findMissing(request, all, { ...(await findTarget(options)), ...onlyMissing, store })
    : { windows: all, already_delivered: undefined };
  const seconds = await medianSeconds(store, request);
  const rounds = Math.ceil(found.windows.length / request.max_parallel);
  // With the platform's totals.
  const reports = found.windows.length * (request.kind === 'report' && request.reconcile ? 2 : 1);
  const { dollars } = costOf(request.kind, reports, seconds ?? ASSUMED_SECONDS);
  return {
    outcome: 'ok' as const,
    account: request.account,
    name: request.name,
    windows: found.windows,
    already_delivered: found.already_delivered,
    // If the platform answers at the first try.
    reports: request.kind === 'report' ? reports : 0,
    minutes: Math.ceil((rounds * (seconds ?? ASSUMED_SECONDS)) / 60),
    seconds_per_report: seconds,
    dollars: Number(dollars.toFixed(4)),
    warnings,
  };
}

/** The platform whose deliveries count. */
async function findTarget({ local, out }: PlanOptions): Promise<RequestTarget> {
  if (local) return targetOf(await lastPlatform(out));
  const { base_url, revision } = loadConfig();
  return { platform: platformName(base_url), revision };
}

/**
 * The median time from a report's creation to its manifest, over the latest manifests of the export. A
 * sandbox says nothing about the platform's time, and its clock may be faster.
 */
async function medianSeconds(store: ReadableBucket, request: ExportRequest): Promise<number | undefined> {
  const keys = await store.list(exportPrefix(request));
  const latest = keys.filter((key) => key.endsWith(`/${MANIFEST}`)).slice(-RECENT);
  const texts = await Promise.all(latest.map((key) => store.getText(key)));
  const seconds = texts.flatMap((text = '') => {
    const { platform, report_created_at, copied_at, published_at } = Object(parseJson(text));
    if (platform === targetOf({}).platform) return [];
    const took = (Date.parse(published_at) - Date.parse(report_created_at ?? copied_at)) / 1000;
    return Number.isFinite(took) ? [Math.round(took)] : [];
  });
  return seconds.sort((one, other) => one - other)[seconds.length >> 1];
}

function describePlan(plan: Awaited<ReturnType<typeof planRequest>>): string[] {
  const { windows, already_delivered: already, seconds_per_report: seconds } = plan;
  const [first, last] = [windows[0], windows.at(-1)];
  const basis =
    seconds === undefined
      ? `assuming ${ASSUMED_SECONDS} s a report, because none was delivered yet`
      : `at ${seconds} s a report, the median of the latest deliveries`;
  const days =
    first && last
      ? describeDays({ start_date: last.start_date, end_date: first.end_date })
      : 'nothing to export';
  return [
    `${plan.account}/${plan.name}: ${days}`,
    `windows            ${windows.length}${already ? ` (and ${already} already delivered)` : ''}`,
    `reports to create  ${plan.reports}`,
    `expected time      ${plan.minutes} min, ${basis}`,
    `AWS charges about  $${plan.dollars.toFixed(4)} (Step Functions and Lambda, list prices of ${PRICES.as_of})`,
    ...plan.warnings.map((warning) => `warning: ${warning}`),
  ];
}
