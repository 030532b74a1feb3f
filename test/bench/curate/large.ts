import { mkdirSync, mkdtempDisposableSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { tableColumns } from '../../../functions/workflow/table.ts';
import { shownDay } from '../../support/ledger-rows.ts';
import { measureCommand, median, type Taken } from '../measure-command.ts';
import { type ContenderInput, SCHEMA, writeReport } from './report.ts';

const CONTENDER = fileURLToPath(new URL('contender.ts', import.meta.url));
const START = '2026-10-01';

/** Bytes of the report that is merged into a month. */
const DAY_BYTES = 10e6;

/**
 * Measures the step over a large report, in turns with a floor that spools the file, reads its rows and
 * writes them without a check. Then measures the merge of one day into a month that is large already.
 *
 * @param bytes of the report
 * @param monthRows of the month's object; 15 million are about 1 GB
 */
export async function benchLarge(bytes: number, monthRows: number, rounds: number): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-curate-'));
  const measure = async (
    work: Pick<ContenderInput, 'contender' | 'path' | 'crc32' | 'objects'>,
    days: number,
  ) => {
    const scratch = join(folder.path, 'scratch');
    mkdirSync(scratch);
    const end_date = addDays(START, days);
    const input = JSON.stringify({ ...work, start_date: START, end_date, scratch } satisfies ContenderInput);
    const taken = await measureCommand(`'${process.execPath}' '${CONTENDER}' '${input}'`);
    rmSync(scratch, { recursive: true });
    return taken;
  };
  const path = join(folder.path, 'report.json');
  const objects = join(folder.path, 'objects');
  for (const days of [1, 45]) {
    const crc32 = await writeReport(path, { bytes, start_date: START, days });
    const samples = { floor: [] as Taken[], step: [] as Taken[] };
    for (let round = 1; round <= rounds; round++)
      for (const contender of ['floor', 'step'] as const) {
        samples[contender].push(await measure({ contender, path, crc32, objects }, days));
        rmSync(objects, { recursive: true, force: true });
      }
    const name = days === 1 ? 'one day' : `${days} days`;
    const floor = print(`${name} without checks`, samples.floor);
    print(`${name} by the step`, samples.step, floor);
  }
  mkdirSync(objects);
  const object = join(objects, 'tables_bench_acme.2026-10.parquet');
  await writeMonth(object, monthRows);
  const crc32 = await writeReport(path, { bytes: DAY_BYTES, start_date: START, days: 1 });
  const size = (statSync(object).size / 1e9).toFixed(2);
  print(`a day into a month of ${size} GB`, [await measure({ contender: 'step', path, crc32, objects }, 1)]);
}

/** Prints medians, and the largest peak. @returns the CPU in seconds */
function print(name: string, samples: readonly Taken[], base?: number): number {
  const cpu = median(samples.map((taken) => taken.cpu));
  const seconds = median(samples.map((taken) => taken.seconds)).toFixed(1);
  const peak = (Math.max(...samples.map(({ rss }) => rss)) / 1e6).toFixed(0);
  const ratio = base === undefined ? '' : ` (${(cpu / base).toFixed(2)})`;
  console.log(`${name}: CPU ${cpu.toFixed(1)} s${ratio}, ${seconds} s, peak ${peak} MB`);
  return cpu;
}

/** Writes the object of October. No two rows are alike. */
async function writeMonth(path: string, rows: number): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: '1GB' });
  const connection = await instance.connect();
  const perDay = Math.ceil(rows / 31);
  const shown = shownDay({ created_at: '2026-01-01T00:00:00.000Z', rows: perDay });
  const days = Object.fromEntries(Array.from({ length: 31 }, (_, at) => [addDays(START, at), shown]));
  const values: Readonly<Record<string, string>> = {
    account: `'acme'`,
    date: `DATE '${START}' + (i // ${perDay})::INTEGER`,
    campaign_id: 'uuid()::VARCHAR',
    campaign_name: `'Campaign ' || hash(i)::VARCHAR`,
    advertiser_id: `'0c1ff5c1-4bd3-4fd5-8a3e-000000000001'`,
    spend: '((hash(i + 1) % 1000000000) / 1000000)::DECIMAL(18,6)',
    impressions: '(hash(i + 2) % 1000000)::BIGINT',
    number_of_purchases: '(hash(i + 3) % 1000)::BIGINT',
    report_id: `'old'`,
    report_created_at: `TIMESTAMP '2026-01-01'`,
  };
  const columns = tableColumns(SCHEMA).map(({ name }) => `${values[name]} AS ${name}`);
  await connection.run(
    `COPY (SELECT ${columns} FROM range(${perDay * 31}) AS numbers(i))
       TO '${path}' (FORMAT parquet, KV_METADATA {days: '${JSON.stringify(days)}'})`,
  );
  connection.closeSync();
  instance.closeSync();
}
