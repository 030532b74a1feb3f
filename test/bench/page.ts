import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { scaledClock } from '../../infra/lab/local/clock.ts';
import { type Sandbox, startSandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
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

/** The days that a daily run of each export changes. */
const LOOK_BACK = 28;

const MAIN = `'${process.execPath}' infra/operate/cli/main.ts`;

/** Twice the history takes at most a tenth more time. */
const YEARS = [1, 2];

/**
 * Measures `page --local` for one year and for two of three accounts with five exports, which takes minutes
 * to export.
 *
 * @param folder is filled, unless an earlier bench has done so
 */
export async function benchPage(folder: string, rounds: number): Promise<void> {
  const samples = new Map<number, Taken[]>(YEARS.map((years) => [years, []]));
  const placeOf = (years: number) => join(folder, `${years}`);
  for (const years of YEARS) if (!existsSync(placeOf(years))) await exportAll(placeOf(years), years * 365);
  for (let round = 1; round <= rounds; round++)
    for (const [years, taken] of samples) {
      const place = placeOf(years);
      taken.push(await measureCommand(`${MAIN} page --local --out '${place}/out' > /dev/null`));
    }
  const rows = [...samples].map(([years, taken]) => ({
    years,
    'time (s)': median(taken.map(({ seconds }) => seconds)),
    'CPU (s)': median(taken.map(({ cpu }) => cpu)),
    'peak memory (MB)': Math.max(...taken.map(({ rss }) => rss)) / 1e6,
    'file (kB)': statSync(join(placeOf(years), 'out/index.html')).size / 1e3,
  }));
  console.table(rows);
}

/** A backfill, and the last of the daily runs. The others leave only what the page could read of them. */
async function exportAll(folder: string, history: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const end_date = new Date().toISOString().slice(0, 10);
  const requests = ACCOUNTS.flatMap((account) =>
    Object.entries(EXPORTS).map(([name, dimensions]) => ({ account, name, dimensions, metrics: METRICS })),
  );
  for (const days of [history, LOOK_BACK])
    for (const [at, request] of requests.entries()) {
      process.stderr.write(`exports ${days} days: ${at + 1} of ${requests.length}\r`);
      const restated = { days: LOOK_BACK, everyHours: 1 / 60 };
      await using sandbox = await startSandbox({ now: scaledClock(SPEED).now, report: { restated } });
      await runLocally(sandbox, { ...request, start_date: addDays(end_date, -days), end_date }, folder);
    }
  const last = `start_date=${addDays(end_date, -LOOK_BACK)}/end_date=${end_date}/_manifest.json`;
  for (const file of globSync(join(folder, `out/*/exports/*/*/${last}`)))
    for (let ago = 1; ago <= history - LOOK_BACK; ago++) repeatManifest(file, ago);
}

/** Writes the manifest of a daily run that was so many days earlier. */
function repeatManifest(file: string, ago: number): void {
  // Dates, and the dates of instants.
  const shift = (text: string) => text.replace(/\d{4}-\d{2}-\d{2}(?=[T"/])/g, (date) => addDays(date, -ago));
  const { revision } = JSON.parse(readFileSync(file, 'utf8'));
  const earlier = shift(`${file}/`).slice(0, -1);
  const manifest = { ...JSON.parse(shift(readFileSync(file, 'utf8'))), revision };
  mkdirSync(dirname(earlier), { recursive: true });
  writeFileSync(earlier, JSON.stringify(manifest));
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
