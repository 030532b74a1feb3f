import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MartCheck } from '../../../../infra/operate/check/check-mart.ts';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { dateOf, deliver, openFolder, rebuild } from '../days/deliveries.ts';

export const LAST_DAY = 20;
/** From this day on, acme was restated. */
export const RESTATED_FROM = 15;

const METRICS = ['spend', 'impressions', 'conversions', 'reach'];
const REQUEST = { metrics: METRICS, dimensions: ['campaign_id'] };

/** Rows of several campaigns, all of whose values differ. @param report the first or a later one */
function rowsOf(account: string, [first, last]: readonly [number, number], report: number) {
  const days = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const size = account === 'acme' ? 1 : 3;
  return days.flatMap((day) =>
    [1, 2, 3].map((campaign) => {
      const views = 1_000 * size + ((day * 137 + campaign * 71 + report * 29) % 997);
      return {
        date: dateOf(day),
        campaign_id: `${account}-${campaign}`,
        spend: Number((views / 7 + report).toFixed(6)),
        impressions: views,
        conversions: views / 300,
        reach: views - 100,
      };
    }),
  );
}

/** A folder with a table of two accounts. The newest days of acme were restated. */
export async function createMartFolder(onEnd: (close: () => Promise<void>) => void) {
  const folder = await openFolder(onEnd);
  const place = ['daily', '--local', '--out', folder.out];
  for (const account of ['acme', 'globex']) {
    const days = [1, LAST_DAY] as const;
    await deliver(folder, { account, days, created: 1, request: REQUEST, rows: rowsOf(account, days, 0) });
  }
  await rebuild(place);
  const restated = [RESTATED_FROM, LAST_DAY] as const;
  const rows = rowsOf('acme', restated, 1);
  await deliver(folder, { days: restated, created: 2, request: REQUEST, rows });
  await rebuild(place);
  const currencies = join(folder.out, 'currencies.json');
  const accounts = { acme: { currency: 'EUR' }, globex: { currency: 'USD' } };
  const config = { base_url: 'https://api.platform.example/v1', revision: '2026-09-01', accounts };
  await writeFile(currencies, JSON.stringify(config));
  return { ...folder, place, currencies };
}

export type MartFolder = Awaited<ReturnType<typeof createMartFolder>>;

/** Runs the command. */
export async function checkMart({ place }: Pick<MartFolder, 'place'>, ...options: readonly string[]) {
  const { status, stdout, stderr } = await runCommand(['check', ...place, '--json', ...options]);
  const result = JSON.parse(stdout) as MartCheck & { readonly faults?: readonly string[] };
  return { status, stderr, ...result };
}

/** Writes the rows of a query as a CSV file. @returns its path */
export async function writeCsv({ out }: MartFolder, sql: string): Promise<string> {
  const { stdout } = await runCommand(['query', '--local', '--out', out, '--csv', sql]);
  const file = join(temporaryDirectory(), 'mart.csv');
  await writeFile(file, stdout);
  return file;
}
