import { Command } from 'commander';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import { type CheckedExport, checkExports, type Difference } from '../../days/check.ts';
import { describeDamage } from '../../days/damage.ts';
import type { AskedDays } from '../../days/days-to-look-at.ts';
import type { ExportPlace } from '../../days/exports.ts';
import { openToRead } from '../../place/bucket.ts';
import { DELIVERED, FAILED } from '../exit-status.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';

type CheckOptions = ExportPlace & AskedDays & CommonOptions;

export function createCommand(): Command {
  return new Command('check')
    .argument('<name>', 'the export')
    .option('--account <name>', 'only this account (default: all that have the export)')
    .addOption(option.from(' (default: as in missing)'))
    .addOption(option.to(' (default: as in missing)'))
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('check daily-campaigns --from 2026-10-01 --to 2026-11-01'))
    .action(async (name: string, options: CheckOptions) => {
      await using bucket = await openToRead(options);
      const exports = await checkExports(name, options, bucket, new Date());
      const differs = exports.some(({ differences, damaged }) => differences.length + damaged.length > 0);
      if (options.json) printDocument({ outcome: differs ? 'differs' : 'ok', exports });
      else printLines(exports.flatMap(describeCheck));
      process.exitCode = differs ? FAILED : DELIVERED;
    });
}

function describeCheck(checked: CheckedExport): string[] {
  const { account, name, months, differences, commands, damaged } = checked;
  return [
    ...months.map(({ month, agree, differ, not_checked }) => {
      const counts = Object.entries({ agree, differ, 'not checked': not_checked });
      const days = counts.flatMap(([word, many]) => (many > 0 ? [`${many} ${word}`] : []));
      return `${account}/${name}  ${month}  days: ${days.join(', ')}`;
    }),
    ...differences.map((each) => `  ${describeDifference(each)}`),
    ...commands.map((command) => `  ${command}`),
    ...damaged.map((key) => `  ${describeDamage(key)}`),
  ];
}

/** Such as `2026-10-03  spend: file 12.5, table 13`. */
function describeDifference({ metric, values, ...range }: Difference): string {
  const said = Object.entries(values).map(([source, value]) => `${source} ${value ?? 'none'}`);
  return `${describeDays(range)}  ${metric}: ${said.join(', ')}`;
}
