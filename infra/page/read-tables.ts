import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import { identifier, literal, openDatabase, type Row } from '../../functions/tables/database.ts';
import { damaged, type TableProblem } from '../../functions/tables/report.ts';
import { DAYS, readShownDays, type ShownDays } from '../../functions/workflow/shown-days.ts';
import { LEDGER } from '../../functions/workflow/table.ts';
import type { ReadableBucket } from '../cli/bucket.ts';
import { escapeGlob, findDamaged } from '../cli/query/views.ts';
import { NEWEST_CHANGES, RESTATEMENTS, type SumOverTime } from '../config/queries.ts';
import type { PageSums, Restatement } from './contents.ts';
import { type Query, readSums } from './read-sums.ts';

/** Restatements that the page shows of an account's table. */
const MAX_RESTATEMENTS = 50;

/** Objects that are downloaded at the same time. */
const PARALLEL = 20;

/** The facts of an account in the tables. */
export interface AccountFacts {
  readonly shown: ShownDays;
  /** The number of newer reports that changed the table, by day. */
  readonly restated: Readonly<Record<string, number>>;
  /** The newest. */
  readonly restatements: readonly Restatement[];
  readonly older_restatements: number;
}

export interface Tables extends AsyncDisposable {
  /** @returns undefined if the table has no object of the account, or a damaged one */
  of(table: string, account: string): AccountFacts | undefined;
  /** The reason why the account's part of the table or of the ledger is left out. */
  problemOf(table: string, account: string): string | undefined;
  /** @returns by account, of those that have rows */
  sum(table: string, wanted: SumOverTime['metrics']): Promise<ReadonlyMap<string, PageSums>>;
}

/** An object of a table on this disk. */
interface TableFile {
  readonly key: string;
  readonly table: string;
  readonly account: string;
  readonly path: string;
}

/** Damaged objects, by table and account. */
type Problems = Map<string, TableProblem>;

/** Opens all tables in DuckDB, which reads each file in place or downloads it first. */
export async function openTables(bucket: ReadableBucket, keys: readonly string[]): Promise<Tables> {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await mkdtempDisposable(join(tmpdir(), 'page-')));
  const files = await findFiles(bucket, keys, folder);
  const database = opening.use(await openDatabase(folder, new AbortController().signal));
  const query = (sql: string) => database.query(sql);
  const problems: Problems = new Map();
  const ofTables = files.filter(({ table }) => table !== LEDGER);
  const shown = await readIntact(query, ofTables, problems, (intact) => readShown(query, intact));
  const ofLedger = files.filter(({ table }) => table === LEDGER);
  const changes = await readIntact(query, ofLedger, problems, (intact) => readChanges(query, intact));
  const opened = opening.move();
  return {
    of(table, account) {
      const id = `${table}/${account}`;
      const days = problems.has(id) ? undefined : shown.get(id);
      return days && { shown: days, ...(changes.get(id) ?? NO_CHANGES) };
    },
    problemOf: (table, account) =>
      (problems.get(`${table}/${account}`) ?? problems.get(`${LEDGER}/${account}`))?.message,
    sum: (table, wanted) =>
      readIntact(
        query,
        ofTables.filter((file) => file.table === table),
        problems,
        async (own) => {
          const days = new Map(own.map(({ account }) => [account, shown.get(`${table}/${account}`) ?? {}]));
          return own.length === 0 ? new Map() : readSums(query, filesOf(own), wanted, days);
        },
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Reads files. Leaves out those of an account's table that has a damaged one. @param problems gets the damaged ones */
async function readIntact<T>(
  query: Query,
  files: readonly TableFile[],
  problems: Problems,
  read: (files: readonly TableFile[]) => Promise<T>,
): Promise<T> {
  const intact = files.filter(({ table, account }) => !problems.has(`${table}/${account}`));
  return read(intact).catch(async (error) => {
    const path = await findDamaged(
      query,
      intact.map((each) => each.path),
      error,
    );
    const file = intact.find((each) => each.path === path || damaged(each.path).message === error.message);
    if (!file) throw error;
    problems.set(`${file.table}/${file.account}`, damaged(file.key));
    return readIntact(query, files, problems, read);
  });
}

/** The objects whose keys are those of a table. Any other key could lead out of the folder. */
async function findFiles(
  bucket: ReadableBucket,
  keys: readonly string[],
  folder: string,
): Promise<TableFile[]> {
  const find = async (key: string) => {
    const [, table, account] = /^tables\/([\w-]+)\/([\w-]+)(?:\.[\w-]+)*\.parquet$/.exec(key) ?? [];
    if (table === undefined || account === undefined) return pMapSkip;
    const path = await bucket.toFile(key, join(folder, key.replaceAll('/', '~')));
    return path === undefined ? pMapSkip : { key, table, account, path };
  };
  return pMap(keys, find, { concurrency: PARALLEL });
}

/** As a list of SQL. */
function filesOf(files: readonly TableFile[]): string {
  return `[${files.map(({ path }) => literal(escapeGlob(path)))}]`;
}

/** The days that the objects list, by table and account. */
async function readShown(query: Query, files: readonly TableFile[]): Promise<Map<string, ShownDays>> {
  const shown = new Map<string, Record<string, ShownDays[string]>>();
  if (files.length === 0) return shown;
  const byPath = new Map(files.map((file) => [file.path, file]));
  const rows = await query(
    `SELECT file_name, decode(value) AS value FROM parquet_kv_metadata(${filesOf(files)}) WHERE decode(key) = ${literal(DAYS)}`,
  );
  const own = new Set(rows.map(({ file_name }) => file_name));
  const foreign = files.find(({ path }) => !own.has(path));
  if (foreign) throw damaged(foreign.path);
  for (const { file_name, value } of rows) {
    const { table, account } = byPath.get(String(file_name)) ?? {};
    const id = `${table}/${account}`;
    shown.set(id, Object.assign(shown.get(id) ?? {}, readShownDays(String(value))));
  }
  return shown;
}

type Changes = Omit<AccountFacts, 'shown'>;

const NO_CHANGES: Changes = { restated: {}, restatements: [], older_restatements: 0 };

/** The changes by newer reports, by table and account. */
async function readChanges(query: Query, ledger: readonly TableFile[]): Promise<Map<string, Changes>> {
  if (ledger.length === 0) return new Map();
  await query(`CREATE VIEW ${identifier(LEDGER)} AS FROM read_parquet(${filesOf(ledger)})`);
  await query(`CREATE TABLE changes AS ${RESTATEMENTS}`);
  const idOf = "concat(table_name, '/', account) AS id";
  const counts = await query(
    `SELECT ${idOf}, CAST(date AS VARCHAR) AS date, CAST(count(DISTINCT (report_id, changed_at)) AS INTEGER) AS times
     FROM changes GROUP BY ALL`,
  );
  const newest = await query(
    `SELECT ${idOf}, CAST(date AS VARCHAR) AS date, metric, CAST(changed_at AS VARCHAR) AS changed_at, first, now,
       CAST(corrections AS INTEGER) AS corrections, CAST(count(*) OVER own AS INTEGER) AS changes
     FROM (
       SELECT table_name, account, date, metric, max(changed_at) AS changed_at, count(*) AS corrections,
         first(before ORDER BY changed_at, report_id) AS first, last(after ORDER BY changed_at, report_id) AS now
       FROM changes GROUP BY ALL
     )
     WINDOW own AS (PARTITION BY table_name, account)
     QUALIFY row_number() OVER (PARTITION BY table_name, account ${NEWEST_CHANGES}) <= ${MAX_RESTATEMENTS}
     ${NEWEST_CHANGES}`,
  );
  const byId = Map.groupBy(newest, ({ id }) => String(id));
  const days = Map.groupBy(counts, ({ id }) => String(id));
  return new Map(
    [...days].map(([id, all]) => {
      const rows = byId.get(id) ?? [];
      const changes = {
        restated: Object.fromEntries(all.map(({ date, times }) => [String(date), Number(times)])),
        restatements: rows.map(toRestatement),
        older_restatements: Number(rows[0]?.changes) - rows.length,
      };
      return [id, changes];
    }),
  );
}

function toRestatement({ date, metric, first, now, corrections, changed_at }: Row): Restatement {
  return {
    date: String(date),
    metric: String(metric),
    first: first === null ? undefined : String(first),
    now: now === null ? undefined : String(now),
    corrections: Number(corrections),
    at: new Date(`${String(changed_at).replace(' ', 'T')}Z`).toISOString(),
  };
}
