import { Command } from 'commander';
import { monthRange } from '../../../../functions/workflow/request/dates.ts';
import { type ExportPlace, findExports } from '../../days/find-exports.ts';
import { readLedger } from '../../days/ledger-days.ts';
import { openBucket, openToRead } from '../../place/bucket.ts';
import { UsageError } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option, parseMonth } from '../options.ts';
import { lockFolder } from '../run/out-lock.ts';
import { type ClosedReport, closeReport } from './close-report.ts';

interface CloseOptions extends ExportPlace, CommonOptions {
  readonly again?: true;
  readonly anyway?: true;
}

export function createCommand(): Command {
  return new Command('close')
    .argument('<month>', 'such as 2026-10', parseMonth)
    .argument('[name]', 'an export (default: all that have a table)')
    .option('--account <name>', 'only this account')
    .option('--again', 'close it again: what it shows now counts from then on')
    .option('--anyway', 'close it although days are missing, behind, held or not final')
    .addOption(option.json())
    .option('--local', 'work on the folder of local runs instead of the deployed bucket')
    .addOption(option.out())
    .addHelpText('after', examples('close 2026-10', 'query --saved since-close'))
    .action(async (month: string, name: string | undefined, options: CloseOptions) => {
      const exports = await close(month, name, options);
      const isRefused = exports.some(({ outcome }) => outcome === 'refused');
      if (options.json) printDocument({ outcome: isRefused ? 'refused' : 'ok', month, exports });
      else
        printLines(
          exports.flatMap(({ account, name, todo }) => [
            `${account}/${name}  ${month} ${todo[0]}`,
            ...todo.slice(1),
          ]),
        );
      process.exitCode = isRefused ? FAILED : DELIVERED;
    });
}

async function close(
  month: string,
  name: string | undefined,
  options: CloseOptions,
): Promise<ClosedReport[]> {
  const now = new Date();
  const { start_date: from, end_date: to } = monthRange(month);
  await using reading = await openToRead(options);
  const all = await findExports(name, options, reading, now, { from, to });
  const reports = all.filter(({ table }) => table?.kind === 'report');
  if (reports.length === 0) throw new UsageError(['no report with a table to close']);
  await using _lock = options.local ? await lockFolder(options.out) : undefined;
  await using store = await openBucket(options);
  const since = new Map(reports.map(({ request }) => [`${request.account}.${request.name}`, from]));
  const readDays = await readLedger(reading, since, loadConfig(), now);
  const closing = { month, options, reading, store, readDays, now };
  const closed: ClosedReport[] = [];
  for (const report of reports) closed.push(await closeReport(report, closing));
  return closed;
}
