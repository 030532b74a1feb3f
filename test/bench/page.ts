import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { scaledClock } from '../../infra/local/clock.ts';
import { startSandbox } from '../../infra/sandbox/sandbox.ts';
import { formatTable, median, withRatio } from './figures.ts';
import { runLocally } from './local.ts';
import { measureCommand, type Taken } from './measure-command.ts';

const ACCOUNTS = ['one', 'two', 'three'];

/** The dimensions of each export. A report without any has one row per day. */
const EXPORTS = {
  campaigns: ['campaign_id', 'campaign_name'],
  countries: ['country'],
  creatives: ['creative_id', 'campaign_name'],
  platforms: ['event_source_platform'],
  totals: undefined,
};

const METRICS = ['spend', 'impressions', 'number_of_purchases'];

/** Nothing but waits is shorter. */
const SPEED = 200;

/** The days that a second run of each export changes. */
const RESTATED_DAYS = 28;

/**
 * Measures `page --local` for two years of three accounts with five exports, which takes minutes to export.
 *
 * @param folder is filled by the last checkout, unless an earlier bench has done so
 * @returns a table of medians; the ratios are those to the last checkout
 */
export async function benchPage(
  checkouts: readonly string[],
  folder: string,
  rounds: number,
): Promise<string> {
  if (!existsSync(join(folder, 'out'))) await exportAll(checkouts.at(-1) ?? '', folder);
  const file = join(folder, 'page.html');
  const rows = checkouts.map((checkout) => ({ checkout, samples: [] as (Taken & { bytes: number })[] }));
  for (let round = 1; round <= rounds; round++) {
    for (const { checkout, samples } of rows) {
      const command = `'${process.execPath}' infra/cli/main.ts page --local --out '${folder}/out' --to '${file}'`;
      const taken = await measureCommand(`cd '${checkout}' && ${command} > /dev/null`, process.env);
      samples.push({ ...taken, bytes: statSync(file).size });
    }
  }
  const figures = rows.map(({ checkout, samples }) => ({
    checkout,
    seconds: median(samples.map(({ seconds }) => seconds)),
    cpu: median(samples.map(({ cpu }) => cpu)),
    megabytes: Math.max(...samples.map(({ rss }) => rss)) / 1e6,
    kilobytes: median(samples.map(({ bytes }) => bytes)) / 1e3,
  }));
  const base = figures.at(-1);
  const lines = figures.map(({ checkout, seconds, cpu, megabytes, kilobytes }) => [
    checkout,
    withRatio(seconds, base?.seconds, 2, ' s'),
    withRatio(cpu, base?.cpu, 2, ' s'),
    withRatio(megabytes, base?.megabytes, 0, ' MB'),
    withRatio(kilobytes, base?.kilobytes, 0, ' kB'),
  ]);
  return formatTable([['', 'time', 'CPU', 'peak memory', 'file'], ...lines], 1);
}

async function exportAll(checkout: string, folder: string): Promise<void> {
  const end_date = new Date().toISOString().slice(0, 10);
  const requests = ACCOUNTS.flatMap((account) =>
    Object.entries(EXPORTS).map(([name, dimensions]) => ({ account, name, dimensions, metrics: METRICS })),
  );
  for (const days of [2 * 365, RESTATED_DAYS])
    for (const [at, request] of requests.entries()) {
      process.stderr.write(`exports ${days} days: ${at + 1} of ${requests.length}\r`);
      const clock = scaledClock(SPEED);
      const restated = { days: RESTATED_DAYS, everyHours: 1 / 60 };
      await using sandbox = await startSandbox({ now: clock.now, report: { restated } });
      const range = { start_date: addDays(end_date, -days), end_date };
      await runLocally(checkout, sandbox, { ...request, ...range }, { folder, speed: SPEED });
    }
}
