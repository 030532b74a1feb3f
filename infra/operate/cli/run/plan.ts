import { Command } from 'commander';
import { isOfAccounts, requestsIn } from '../../../../functions/workflow/request/accounts.ts';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import { splitRequest } from '../../../../functions/workflow/request/request.ts';
import { costOf, PRICES, SECONDS_PER_REPORT } from '../../../stack/config/cost.ts';
import { chooseMissingWindows } from '../../days/missing-windows.ts';
import { checkOneAccount, checkRequest } from '../../place/check-request.ts';
import { configuredNameFaults } from '../../place/configured-name.ts';
import { refuse } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';
import { findRequest, type RequestOptions } from './find-request.ts';

type PlanOptions = RequestOptions & CommonOptions;

export function createCommand(): Command {
  return new Command('plan')
    .argument('[name]', 'an export in the config; without one, use --input')
    .option('--input <file>', 'the request, a JSON file; - reads standard input')
    .addOption(option.account())
    .addOption(option.from())
    .addOption(option.to())
    .addOption(option.period())
    .option('--only-missing', 'leave out windows that have no day to export')
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
export async function planRequest(input: unknown, options: PlanOptions) {
  const now = new Date();
  const inputs = requestsIn(input) as { account: string }[];
  const todo = options.input && 'leave one of them in the file';
  if (isOfAccounts(input)) checkOneAccount(String(input.name), inputs, todo);
  const { request, warnings, manner } = checkRequest(inputs[0], now);
  if (!options.local) refuse(configuredNameFaults([request], now));
  const chosen = manner.onlyMissing
    ? await chooseMissingWindows(request, inputs[0], options, now)
    : { windows: splitRequest(request), already_delivered: undefined, warnings: [] };
  const { windows, already_delivered } = chosen;
  const rounds = Math.ceil(windows.length / request.max_parallel);
  // With the platform's totals.
  const reports = windows.length * (request.kind === 'report' && request.reconcile ? 2 : 1);
  const { dollars } = costOf(request.kind, reports, SECONDS_PER_REPORT, loadConfig().memory_mb);
  return {
    outcome: 'ok' as const,
    account: request.account,
    name: request.name,
    windows,
    already_delivered,
    // If the platform answers at the first try.
    reports: request.kind === 'report' ? reports : 0,
    minutes: Math.ceil((rounds * SECONDS_PER_REPORT) / 60),
    dollars: Number(dollars.toFixed(4)),
    warnings: [...warnings, ...chosen.warnings],
  };
}

function describePlan(plan: Awaited<ReturnType<typeof planRequest>>): string[] {
  const { windows, already_delivered: already } = plan;
  const [first, last] = [windows[0], windows.at(-1)];
  const days =
    first && last
      ? describeDays({ start_date: last.start_date, end_date: first.end_date })
      : 'nothing to export';
  return [
    `${plan.account}/${plan.name}: ${days}`,
    `windows            ${windows.length}${already ? ` (and ${already} already delivered)` : ''}`,
    `reports to create  ${plan.reports}`,
    `expected time      ${plan.minutes} min, assuming ${SECONDS_PER_REPORT} s a report`,
    `AWS charges about  $${plan.dollars.toFixed(4)} (Step Functions and Lambda, list prices of ${PRICES.as_of})`,
    ...plan.warnings.map((warning) => `warning: ${warning}`),
  ];
}
