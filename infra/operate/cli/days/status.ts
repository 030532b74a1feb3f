import { Command } from 'commander';
import type { StoredFailure } from '../../../../functions/days/records.ts';
import { describeDamage } from '../../days/damage.ts';
import { type ExportStatus, readExportStatus } from '../../days/export-status.ts';
import { describeClose, describeFinality } from '../../days/final-days.ts';
import { commandFor } from '../../days/next-command.ts';
import { describeUnfinished } from '../../days/open-runs.ts';
import { describeEnd, toMinute } from '../../executions/last-run.ts';
import { type Folder, openToRead } from '../../place/bucket.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, option } from '../options.ts';
import { describeCounts } from './missing.ts';

/** The last months that the text names; --json has all. */
const MAX_MONTHS = 3;

export function createCommand(): Command {
  return new Command('status')
    .argument('[name]', 'an export (default: all)')
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .addOption(option.out())
    .action(status);
}

async function status(name: string | undefined, options: CommonOptions): Promise<void> {
  await using bucket = await openToRead(options);
  const { exports, unreadable } = await readExportStatus(name, options, bucket, new Date());
  const hidden = unreadable.map(({ name, ...place }) => ({ ...place, export: name }));
  if (options.json)
    printDocument({
      outcome: 'ok',
      exports: exports.map(toDocument),
      ...(hidden.length > 0 && { unreadable: hidden }),
    });
  else {
    const texts = [
      ...exports.map((status) => describeStatus(status, options)),
      ...unreadable.map(({ account, name, damaged }) => [`${account}/${name}`, ...damaged.map(damageLine)]),
    ];
    printLines(texts.flatMap((lines, index) => [...(index > 0 ? [''] : []), ...lines]));
  }
}

function damageLine(key: string): string {
  return `  ${'damaged'.padEnd(12)}${describeDamage(key)}`;
}

function toDocument({ name, recordedExport: _, days: __, missing, ledger, ...facts }: ExportStatus) {
  return { ...facts, export: name, days: missing, closed: ledger.closed };
}

/** @param folder of local runs */
export function describeStatus(
  status: Omit<ExportStatus, 'recordedExport' | 'days'>,
  folder: Partial<Folder> = {},
): string[] {
  const { account, name, running, last, newest_day, missing, months, ledger } = status;
  const { newcomers, refused, failure, damaged } = status;
  const isLacking = missing && (missing.counts.there < missing.days || missing.runs.length > 0);
  const explained = failure ?? (last?.outcome === 'delivered' ? undefined : last);
  const lines: [string, string | undefined][] = [
    ...running.map((execution): [string, string] => ['running', execution]),
    [
      'last run',
      last ? `${describeEnd(last)}, ${toMinute(last.at)} UTC, ${last.execution}` : 'none has ended',
    ],
    ['newest day', newest_day ?? 'nothing is delivered yet'],
    ['days', missing && describeCounts(missing)],
    ...(missing?.runs ?? []).map((run): [string, string] => ['unfinished', describeUnfinished(run)]),
    ...months
      .slice(-MAX_MONTHS)
      .map((finality): [string, string] => [finality.month, describeFinality(finality)]),
    ...ledger.closed
      .filter(({ days }, at, all) => days > 0 || at === all.length - 1)
      .map((close): [string, string] => [close.month, describeClose(close)]),
    ['newcomers', newcomers?.words],
    ['refused', refused?.words],
    ...damaged.map((key): [string, string] => ['damaged', describeDamage(key)]),
    ['failure', failure && describeLastFailure(failure)],
    ['see', isLacking ? commandFor(['missing', name], { account }, folder) : undefined],
    ...(missing?.runs ?? []).map((run): [string, string] => ['finish', run.command]),
    ['export', newcomers?.command],
    ['export', refused?.command],
    ['see', explained && !folder.local ? commandFor(['explain', explained.execution]) : undefined],
  ];
  return [
    `${account}/${name}`,
    ...lines.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(12)}${text}`])),
  ];
}

function describeLastFailure({ at, error, happened, todo }: StoredFailure): string {
  return `${toMinute(at)} UTC, ${error}: ${happened} What to do: ${todo}`;
}
