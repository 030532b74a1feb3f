import { Command } from 'commander';
import { count } from '../../../functions/workflow/count.ts';
import { addDays, describeDays } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { type AdvertiserGaps, findAdvertiserGaps } from '../../knowledge/advertisers.ts';
import { type Folder, openToRead } from '../../knowledge/bucket.ts';
import { describeDamage } from '../../knowledge/damage.ts';
import { type ExportPlace, findConfigured, findExport } from '../../knowledge/exports.ts';
import {
  type AskedDays,
  describeReason,
  groupMissing,
  judgeRange,
  LACK_WORDS,
  LACKS,
  type MissingDays,
} from '../../knowledge/missing-days.ts';
import { tableReader } from '../../knowledge/months.ts';
import { findRemedies } from '../../knowledge/remedies.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';

type MissingOptions = ExportPlace & AskedDays & CommonOptions;

export function createCommand(): Command {
  return new Command('missing')
    .argument('<name>', 'the export')
    .addOption(option.account())
    .addOption(option.from(' (default: as in status, at least a month before the newest window)'))
    .addOption(option.to(' (default: the end of the request, or of what was delivered)'))
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('missing example --local --from 2026-10-01 --to 2026-11-01'))
    .action(async (name: string, options: MissingOptions) => {
      if (!options.local) findConfigured(name, options);
      await using bucket = await openToRead(options);
      const now = new Date();
      const found = await findExport(name, options, bucket, now, options.from);
      const judged = await judgeRange(found, tableReader(bucket), options, now);
      const gaps = await findAdvertiserGaps(found, judged.days, bucket, options);
      const { damaged, ...lacking } = groupMissing(found, judged);
      const missing = { ...lacking, ...gaps, damaged: [...damaged, ...gaps.damaged] };
      if (options.json) printDocument(missing);
      else printLines(describeMissing(missing, found.request, options));
    });
}

function describeMissing(
  missing: MissingDays & AdvertiserGaps,
  request: ExportRequest,
  folder: Folder,
): string[] {
  const { account, name, newcomers, refused, damaged } = missing;
  const remedies = [findRemedies(missing, request, folder), newcomers ?? [], refused ?? []].flat();
  return [
    `${account}/${name}, ${describeDays(missing)}: ${describeCounts(missing)}`,
    ...LACKS.flatMap((lack) => missing[lack]).map(
      (each) => `  ${describeDays(each)}  ${describeReason(each)}`,
    ),
    ...[newcomers, refused].flatMap((lacked) => (lacked ? [`  ${lacked.words}`] : [])),
    ...damaged.map((key) => `  ${describeDamage(key)}`),
    ...remedies.flatMap(({ aim, command }) => [aim, `  ${command}`]),
  ];
}

/**
 * Such as `All 31 days are there`, or `3 of 31 days are not delivered, 9 of an older request until 2026-11-19
 * without clicks`.
 */
export function describeCounts(missing: MissingDays): string {
  const { counts, days, older_request: older } = missing;
  const [first, ...others] = LACKS.filter((lack) => counts[lack] > 0);
  const lacks = first && [
    `${counts[first]} of ${count(days, 'day')} ${counts[first] === 1 ? 'is' : 'are'} ${LACK_WORDS[first]}`,
    ...others.map((lack) => `${counts[lack]} ${LACK_WORDS[lack]}`),
  ];
  const last = older.at(-1);
  const until = last ? [`until ${addDays(last.end_date, -1)}`] : [];
  const lacking = new Set(older.flatMap(({ problem = [] }) => problem));
  return [lacks ? lacks.join(', ') : describeComplete(days), ...until, ...lacking].join(' ');
}

function describeComplete(days: number): string {
  if (days === 0) return 'No day of the request is over';
  return days === 1 ? 'The day is there' : `All ${days} days are there`;
}
