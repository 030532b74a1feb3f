import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { scaledClock } from '../../infra/local/clock.ts';
import { type Sandbox, startSandbox } from '../../infra/sandbox/sandbox.ts';
import { measureCommand, median, type Taken } from './measure-command.ts';

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

const MAIN = `'${process.execPath}' infra/cli/main.ts`;

/**
 * Measures `page --local` for two years of three accounts with five exports, which takes minutes to export.
 *
 * @param folder is filled, unless an earlier bench has done so
 */
export async function benchPage(folder: string, rounds: number): Promise<void> {
  if (!existsSync(join(folder, 'out'))) await exportAll(folder);
  const file = join(folder, 'page.html');
  const samples: Taken[] = [];
  for (let round = 1; round <= rounds; round++)
    samples.push(
      await measureCommand(`${MAIN} page --local --out '${folder}/out' --to '${file}' > /dev/null`),
    );
  console.table({
    'time (s)': median(samples.map(({ seconds }) => seconds)),
    'CPU (s)': median(samples.map(({ cpu }) => cpu)),
    'peak memory (MB)': Math.max(...samples.map(({ rss }) => rss)) / 1e6,
    'file (kB)': statSync(file).size / 1e3,
  });
}

async function exportAll(folder: string): Promise<void> {
  const end_date = new Date().toISOString().slice(0, 10);
  const requests = ACCOUNTS.flatMap((account) =>
    Object.entries(EXPORTS).map(([name, dimensions]) => ({ account, name, dimensions, metrics: METRICS })),
  );
  for (const days of [2 * 365, RESTATED_DAYS])
    for (const [at, request] of requests.entries()) {
      process.stderr.write(`exports ${days} days: ${at + 1} of ${requests.length}\r`);
      const restated = { days: RESTATED_DAYS, everyHours: 1 / 60 };
      await using sandbox = await startSandbox({ now: scaledClock(SPEED).now, report: { restated } });
      await runLocally(sandbox, { ...request, start_date: addDays(end_date, -days), end_date }, folder);
    }
}

/** Runs `run --local` against this sandbox. The results go to `out` in the folder. */
async function runLocally(
  { clientId: client_id, clientSecret: client_secret, baseUrl, revision, advertiserIds }: Sandbox,
  request: Readonly<Record<string, unknown>>,
  folder: string,
): Promise<void> {
  const credential = join(folder, 'credential.json');
  const input = join(folder, 'request.json');
  writeFileSync(credential, JSON.stringify({ client_id, client_secret }), { mode: 0o600 });
  writeFileSync(input, JSON.stringify({ ...request, advertiser_ids: advertiserIds.slice(0, 1) }));
  const out = join(folder, 'out');
  const options = { 'base-url': baseUrl, revision, credential, input, out, speed: SPEED };
  const flags = Object.entries(options).map(([option, value]) => `--${option} '${value}'`);
  await measureCommand(`${MAIN} run --local ${flags.join(' ')} > /dev/null 2> '${folder}/stderr'`);
}
