import { Command } from 'commander';
import { DAY_STATES } from '../../../../functions/days/judge.ts';
import { count } from '../../../../functions/workflow/count.ts';
import { describeDays } from '../../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import { type AdvertiserGaps, findAdvertiserGaps } from '../../days/advertiser-gaps.ts';
import { describeDamage } from '../../days/damage.ts';
import type { AskedDays } from '../../days/days-to-look-at.ts';
import { type ExportPlace, findConfigured, findExport } from '../../days/find-exports.ts';
import { judgeExport } from '../../days/judge-export.ts';
import { describeDaysOf, describeState, type MissingDays, STATE_WORDS } from '../../days/missing-days.ts';
import { describeUnfinished, findUnfinished, type RunningRun, runningRuns } from '../../days/open-runs.ts';
import { findRemedies } from '../../days/remedies.ts';
import { type Folder, openToRead } from '../../place/bucket.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';

type MissingOptions = ExportPlace & AskedDays & CommonOptions;

export function createCommand(): Command {
  return new Command('missing')
    .argument('<name>', 'the export')
    .addOption(option.account())
    .addOption(option.from(' (default: as in status: the last 62 days, or as many as the longest run has)'))
    .addOption(option.to(' (default: after the last day that a run was due to bring)'))
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('missing example --local --from 2026-10-01 --to 2026-11-01'))
    .action(async (name: string, options: MissingOptions) => {
      if (!options.local) findConfigured(name, options);
      await using bucket = await openToRead(options);
      const now = new Date();
      const recordedExport = await findExport(name, options, bucket, now, options);
      const all = options.local
        ? []
        : await (await import('../../executions/deployed.ts')).listRunningNames();
      const running = runningRuns(recordedExport, all);
      const judged = await judgeExport(bucket, recordedExport, all);
      const gaps = await findAdvertiserGaps(recordedExport, judged.days, bucket, options);
      const { damaged, ...lacking } = describeDaysOf(
        recordedExport,
        judged,
        findUnfinished(recordedExport, all, options, now),
      );
      const missing = {
        ...lacking,
        ...(running.length > 0 && { running }),
        ...gaps,
        damaged: [...damaged, ...gaps.damaged],
      };
      if (options.json) printDocument(missing);
      else printLines(describeMissing(missing, recordedExport.request, options));
    });
}

function describeMissing(
  missing: MissingDays & AdvertiserGaps & { readonly running?: readonly RunningRun[] },
  request: ExportRequest,
  folder: Folder,
): string[] {
  const { account, name, ranges, runs, running = [], newcomers, refused, damaged } = missing;
  const remedies = [findRemedies(missing, request, folder), newcomers ?? [], refused ?? []].flat();
  return [
    `${account}/${name}, ${describeDays(missing)}: ${describeCounts(missing)}`,
    ...ranges.map((range) => `  ${describeDays(range)}  ${describeState(range)}`),
    ...[newcomers, refused].flatMap((lacked) => (lacked ? [`  ${lacked.words}`] : [])),
    ...damaged.map((key) => `  ${describeDamage(key)}`),
    ...remedies.flatMap(({ aim, command }) => [aim, `  ${command}`]),
    ...running.map((run) => `The run of ${describeDays(run)} is running: ${run.execution}`),
    ...runs.flatMap((run) => [`${upperFirst(describeUnfinished(run))}:`, `  ${run.command}`]),
  ];
}

/** Such as `3 of 31 days are missing, 9 of an older request`. */
export function describeCounts({ counts, days }: MissingDays): string {
  if (days === 0) return 'No day was due yet';
  if (counts.there === days) return days === 1 ? 'The day is there' : `All ${days} days are there`;
  const [first, ...others] = DAY_STATES.filter((state) => state !== 'there' && counts[state] > 0);
  if (first === undefined) return '';
  return [
    `${counts[first]} of ${count(days, 'day')} ${counts[first] === 1 ? 'is' : 'are'} ${STATE_WORDS[first]}`,
    ...others.map((state) => `${counts[state]} ${STATE_WORDS[state]}`),
  ].join(', ');
}

function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
