import { Command } from 'commander';
import { checkDays, type DayVerdict } from '../../functions/decisions/missing.ts';
import { platformName } from '../../functions/decisions/platform-request.ts';
import type { RequestTarget } from '../../functions/decisions/request-hash.ts';
import { exportPrefix } from '../../functions/workflow/keys.ts';
import { type DateRange, dateIn, daysOf, groupDays } from '../../functions/workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from '../../functions/workflow/request/request.ts';
import { type ExportedObjects, openBucket, openCatalog } from './bucket.ts';
import { readCopies } from './curate/copies.ts';
import { describeDays, readKeys } from './days.ts';
import { UsageError } from './errors.ts';
import { printDocument, printLines } from './layout.ts';
import { curateCommand, exportDaysCommand } from './next-command.ts';
import { examples, LOCAL_GROUP, loadConfig, option } from './options.ts';
import { checkOneAccount, findConfiguredRequest } from './request.ts';

interface MissingOptions {
  readonly account?: string;
  readonly from?: string;
  readonly to?: string;
  readonly json?: true;
  readonly local?: true;
  readonly out: string;
}

/** `not_in_table`: a file of the day was delivered, and queries of the table do not see the day. */
type Reason = Exclude<DayVerdict, 'present'> | 'not_in_table';

/** The document that `--json` prints. */
export interface MissingDays extends DateRange {
  readonly outcome: 'ok';
  readonly account: string;
  readonly name: string;
  readonly days: number;
  readonly missing: readonly (DateRange & { readonly days: number; readonly reason: Reason })[];
}

const REASONS: Readonly<Record<Reason, string>> = {
  absent: 'not exported',
  unfinished: 'exported before the day was over',
  other: 'exported by another request',
  not_in_table: 'exported, but not in the table',
};

export function createMissingCommand(): Command {
  return new Command('missing')
    .description(
      'Show the days of an export that have no data, whose report was created before the day was over, or that another request exported.',
    )
    .argument('<name>', 'the export')
    .addOption(option.account())
    .addOption(option.from(' (default: the first day that was delivered)'))
    .addOption(option.to(' (default: today)'))
    .addOption(option.json())
    .option('--local', 'look at the runs of this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.out())
    .addHelpText(
      'after',
      examples('missing daily-campaigns', 'missing example --local --from 2026-10-01 --to 2026-11-01 --json'),
    )
    .action(async (name: string, options: MissingOptions) => {
      await using bucket = await openBucket(options);
      const now = new Date();
      const wanted = await findWanted(name, options, bucket, now);
      const found = await findMissingDays(wanted, bucket, options, now);
      if (options.json) printDocument(found);
      else printLines(describeMissing(found, options));
    });
}

/** An export's request, and the platform that its reports come from. */
interface Wanted {
  readonly request: ExportRequest;
  readonly target: RequestTarget;
}

/** @throws UsageError if the export has no days, or none was delivered yet and there is no `from` */
export async function findMissingDays(
  { request, target }: Wanted,
  bucket: ExportedObjects,
  options: Pick<MissingOptions, 'from' | 'to' | 'local' | 'out'>,
  now: Date,
): Promise<MissingDays> {
  const { account, name } = request;
  if (request.kind !== 'report') throw new UsageError([`${name} is no report, so it has no days`]);
  const timeZone = request.time_zone ?? 'UTC';
  const { delivered } = readKeys(await bucket.list(exportPrefix(request)));
  const start_date = options.from ?? delivered.map((window) => window.start_date).sort()[0];
  if (start_date === undefined) throw new UsageError([`nothing of ${name} was delivered yet; give --from`]);
  const end_date = options.to ?? dateIn(timeZone, now);
  if (options.to !== undefined && end_date < start_date)
    throw new UsageError([`--to ${end_date} is before --from ${start_date}`]);
  const days = daysOf({ start_date, end_date });
  const catalog = await openCatalog(options);
  const files = new Set(delivered.flatMap(daysOf));
  const verdicts =
    (await checkDays(request, days, { ...target, store: bucket, catalog, timeZone })) ??
    days.map((day): DayVerdict => (files.has(day) ? 'present' : 'absent'));
  const reasons = days.map((day, at): Reason | 'present' => {
    const verdict = verdicts[at] ?? 'absent';
    return verdict === 'absent' && files.has(day) ? 'not_in_table' : verdict;
  });
  return {
    outcome: 'ok',
    account,
    name,
    start_date,
    end_date,
    days: days.length,
    missing: group(days, reasons),
  };
}

/** Joins adjacent days with the same reason. */
function group(days: readonly string[], reasons: readonly (Reason | 'present')[]): MissingDays['missing'] {
  const all = (Object.keys(REASONS) as Reason[]).flatMap((reason) =>
    groupDays(days.filter((_, at) => reasons[at] === reason)).map((range) => ({
      ...range,
      days: daysOf(range).length,
      reason,
    })),
  );
  return all.sort((one, other) => one.start_date.localeCompare(other.start_date));
}

/** In a folder, an export need not be in the config: its newest delivery tells the request. @throws UsageError */
export async function findWanted(
  name: string,
  { account, local }: Pick<MissingOptions, 'account' | 'local'>,
  bucket: ExportedObjects,
  now: Date,
): Promise<Wanted> {
  const { base_url, revision, exports } = loadConfig();
  if (!local) {
    const { request } = parseRequest(findConfiguredRequest(name, account), now);
    return { request, target: { platform: platformName(base_url), revision } };
  }
  const configured = exports.find((entry) => entry.name === name);
  const table = configured && (configured.table ?? name);
  const accounts = account === undefined ? {} : { accounts: [account] };
  const copies = await readCopies(bucket, { name, table, ...accounts });
  checkOneAccount(
    name,
    copies.map(({ state }) => state.request.account),
  );
  const [newest] = copies;
  if (!newest) throw new UsageError([`no report of ${name} was delivered to this folder yet`]);
  return { request: newest.state.request, target: newest.target };
}

function describeMissing(
  { account, name, start_date, end_date, days, missing }: MissingDays,
  options: Pick<MissingOptions, 'account' | 'local' | 'out'>,
): string[] {
  const count = missing.reduce((sum, range) => sum + range.days, 0);
  const head = `${account}/${name}, ${describeDays({ start_date, end_date })}: ${count} of ${days} days are missing`;
  const lines = missing.map((range) => `  ${describeDays(range)}  ${REASONS[range.reason]}`);
  const inFiles = missing.filter(({ reason }) => reason === 'not_in_table');
  const others = missing.filter(({ reason }) => reason !== 'not_in_table');
  const isConfigured = loadConfig().exports.some((entry) => entry.name === name);
  return [
    head,
    ...lines,
    ...commandFor('To export them:', others, (range) =>
      exportDaysCommand(name, range, { ...options, isConfigured }),
    ),
    ...commandFor('To add them to the table:', inFiles, (range) => curateCommand(name, range, options)),
  ];
}

/** A command to paste, for the days from the first range to the last one. */
function commandFor(
  aim: string,
  ranges: readonly DateRange[],
  commandOf: (range: DateRange) => string,
): string[] {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return [];
  return [aim, `  ${commandOf({ start_date: first.start_date, end_date: last.end_date })}`];
}
