import { Command, Option } from 'commander';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import { type CheckedExport, checkExports } from '../../check/check-table.ts';
import { type Difference, TRUST } from '../../check/sources.ts';
import { describeDamage } from '../../days/damage.ts';
import type { AskedDays } from '../../days/days-to-look-at.ts';
import type { ExportPlace } from '../../days/find-exports.ts';
import { openToRead } from '../../place/bucket.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';
import { type CheckSqlOptions, isAboutMart, runMartCheck } from './check-sql.ts';

type CheckOptions = ExportPlace & AskedDays & CommonOptions & CheckSqlOptions;

/** The heading of the options about a mart in the help. */
const MART_GROUP = 'Compare the sums of a mart of yours with the table:';

const CHECK_EXAMPLES = examples(
  'check daily-campaigns --from 2026-10-01 --to 2026-11-01',
  'check daily-campaigns --sql "SELECT date, spend FROM marts.daily_spend"',
  'check daily-campaigns --local --database dev.duckdb --sql "SELECT * FROM daily_spend"',
);

export function createCommand(): Command {
  return new Command('check')
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' (default: as in missing)'))
    .addOption(option.to(' (default: as in missing)'))
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .addOption(martOption('--sql <query>', 'its rows: date, metrics, and account if it has accounts'))
    .addOption(martOption('--file <file>', 'the rows in a CSV file, instead of --sql'))
    .addOption(martOption('--database <file>', 'run --sql on this DuckDB file, which is only read'))
    .addOption(martOption('--tolerance <share>', 'how far a sum may be from the table, such as 0.01'))
    .addHelpText('after', CHECK_EXAMPLES)
    .action(async (name: string, options: CheckOptions) => {
      if (isAboutMart(options)) return runMartCheck(name, options);
      await using bucket = await openToRead(options);
      const exports = await checkExports(name, options, bucket, new Date());
      const differs = exports.some(({ differences, damaged }) => differences.length + damaged.length > 0);
      if (options.json) printDocument({ outcome: differs ? 'differs' : 'ok', exports });
      else printLines(exports.flatMap(describeCheckedTable));
      process.exitCode = differs ? FAILED : DELIVERED;
    });
}

function martOption(flags: string, description: string): Option {
  return new Option(flags, description).helpGroup(MART_GROUP);
}

function describeCheckedTable(checked: CheckedExport): string[] {
  const { account, name, months, differences, commands, damaged } = checked;
  return [
    ...months.map(({ month, agree, differ, not_checked }) => {
      const counts = Object.entries({ agree, differ, 'not checked': not_checked });
      const days = counts.flatMap(([word, many]) => (many > 0 ? [`${many} ${word}`] : []));
      return `${account}/${name}  ${month}  days: ${days.join(', ')}`;
    }),
    ...differences.map((difference) => `  ${describeSourceDifference(difference)}`),
    ...commands.map((command) => `  ${command}`),
    ...damaged.map((key) => `  ${describeDamage(key)}`),
  ];
}

/** Such as `2026-10-03  spend: file 12.5, table 13`. */
function describeSourceDifference({ metric, values, ...range }: Difference): string {
  const sources = TRUST.filter((source) => values[source] !== undefined);
  const words = sources.map((source) => `${source} ${values[source] ?? 'none'}`);
  return `${describeDays(range)}  ${metric}: ${words.join(', ')}`;
}
