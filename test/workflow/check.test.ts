import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../support/cli.ts';
import { startCommandRun } from '../support/command-run.ts';
import { withDuckDb, writeParquet } from '../support/ledger-rows.ts';

const BUCKET = 'ad-report-export-exportsbucket';
const WINDOWS = [
  ['2025-09-28', '2025-10-05'],
  ['2025-10-03', '2025-10-08'],
] as const;

/** A folder with two windows that have days in common, whose values another report has changed. */
async function openFolder() {
  const restated = { days: 3_650, everyHours: 1 / 36 };
  const [start_date] = WINDOWS[0];
  const dimensions = ['campaign_id'];
  const metrics = ['spend', 'clicks', 'ctr'];
  const range = { start_date, end_date: WINDOWS[1][1] };
  const { args, out } = await startCommandRun(
    { ...range, metrics, dimensions },
    { report: { secondsToReady: 1, restated } },
  );
  const run = async (command: readonly string[]) => {
    const { status, stderr } = await runCommand(command);
    expect([status, stderr]).toEqual([0, expect.anything()]);
  };
  for (const [from, to] of WINDOWS) await run([...args, '--from', from, '--to', to]);
  const check = async () => {
    const { status, stdout } = await runCommand(['check', 'daily', '--local', '--out', out]);
    return { status, lines: stdout.trimEnd().split('\n') };
  };
  const speed = args.slice(args.indexOf('--speed')).slice(0, 2);
  const paste = (command = '') => {
    const words = command.trim().split(' ').slice(4);
    return run([...words, ...(words[0] === 'run' ? speed : [])]);
  };
  const pathOf = (key: string) => join(out, BUCKET, key);
  return { check, paste, pathOf };
}

/** Writes another version of an object of a table, with the days that it lists. */
async function rewrite(path: string, select: string, where = 'true'): Promise<void> {
  const days = await withDuckDb(async (connection) => {
    const sql = `SELECT decode(value) FROM parquet_kv_metadata('${path}') WHERE decode(key) = 'days'`;
    return (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  });
  await writeParquet(
    `${path}.new`,
    `${select} FROM '${path}' WHERE ${where}`,
    days ? { days: String(days) } : {},
  );
  await rename(`${path}.new`, path);
}

it('check finds what was changed by hand, and the command that it prints mends it', async () => {
  const { check, paste, pathOf } = await openFolder();
  const agreeing = {
    status: 0,
    lines: ['sandbox/daily  2025-09  days: 3 agree', 'sandbox/daily  2025-10  days: 7 agree'],
  };
  expect(await check()).toEqual(agreeing);
  const table = pathOf('tables/daily/sandbox.2025-10.parquet');
  const ledger = pathOf('tables/ledger/sandbox.daily.2025-10.parquet');

  await rewrite(ledger, 'SELECT *', "metric <> 'clicks' OR date <> '2025-10-06'");
  const { status, lines } = await check();
  expect([status, ...lines]).toEqual([
    1,
    agreeing.lines[0],
    'sandbox/daily  2025-10  days: 6 agree, 1 differ',
    expect.stringMatching(/^ {2}2025-10-06 {2}clicks: file \d+, ledger none$/),
    expect.stringMatching(/ rebuild daily --account sandbox --from 2025-10-06 --to 2025-10-07 /),
  ]);
  await paste(lines.at(-1));
  expect(await check()).toEqual(agreeing);

  await rewrite(table, "SELECT * REPLACE (if(date = '2025-10-02', clicks + 1, clicks) AS clicks)");
  const last = "metric = 'ctr' AND date = '2025-10-04'";
  await rewrite(ledger, `SELECT * REPLACE (if(${last}, value + 1e-10, value)::DECIMAL(38, 10) AS value)`);
  const [first = '', second = ''] = WINDOWS.map(([from, to]) => `start_date=${from}/end_date=${to}`);
  for (const file of [`${first}/_manifest.json`, `${second}/report.json`]) {
    const path = pathOf(`exports/account=sandbox/export=daily/${file}`);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(/("spend": ?"?)(?=\d)/, '$19'));
  }
  const damaged = await check();
  expect([damaged.status, ...damaged.lines]).toEqual([
    1,
    'sandbox/daily  2025-09  days: 3 differ',
    'sandbox/daily  2025-10  days: 7 differ',
    expect.stringMatching(/^ {2}2025-10-02 {2}clicks: file \d+, table \d+$/),
    expect.stringMatching(/^ {2}2025-10-04 {2}ctr: table 0\.\d+, ledger 0\.\d+$/),
    expect.stringMatching(/^ {2}2025-09-28 to 2025-10-04 {2}spend: file [\d.]+, manifest 9[\d.]+$/),
    expect.stringMatching(/^ {2}2025-10-03 to 2025-10-07 {2}checksum: file \S+, manifest \S+$/),
    expect.stringMatching(/ run daily --account sandbox --from 2025-09-28 --to 2025-10-08 --local /),
  ]);
  await paste(damaged.lines.at(-1));
  expect(await check()).toEqual(agreeing);
});
