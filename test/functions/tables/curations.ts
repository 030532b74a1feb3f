import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { createObjectStore, type ObjectStore } from '../../../functions/aws/objects.ts';
import { type Curation, curateList, curateRows } from '../../../functions/tables/curate-file.ts';
import { openDatabase } from '../../../functions/tables/database.ts';
import { findRows } from '../../../functions/tables/report-file.ts';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from '../../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { LIST_COLUMNS, type TableSchema } from '../../../functions/workflow/table.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../infra/lab/local/s3/server.ts';
import { shownDays } from '../../support/day-sums.ts';
import { NORMALIZED_LIST } from '../../support/requests.ts';
import { BUCKET, s3ConfigOf, startTestS3, type TestS3Options } from '../../support/s3.ts';
import { reportRef, storedObject, windowOf } from '../../support/steps.ts';
import { query } from './reports.ts';

const COPIED_AT = '2026-11-21T06:00:00.000Z';

/** A table of spend by campaign. */
export const TABLE: TableSchema = {
  table: 'daily',
  kind: 'report',
  date_column: 'date',
  columns: [
    { name: 'campaign_id', type: 'string', from: 'campaign_id' },
    { name: 'spend', type: 'bigint', from: 'spend' },
  ],
  requests: {},
  currencies: {},
};

export const LIST: TableSchema = { ...TABLE, table: 'campaigns', kind: 'list', columns: LIST_COLUMNS };

/** The spends of a report's rows, by day. */
export type Spends = Readonly<Record<string, readonly number[]>>;

export interface Report {
  readonly id: string;
  readonly created_at: string;
  readonly copied_at?: string;
  /** Default: from the first to the last day that has rows. */
  readonly start_date?: string;
  /** Days. Default: all that have rows. */
  readonly length?: number;
  readonly spends: Spends;
  readonly account?: string;
  readonly hash?: string;
  readonly accept_empty?: boolean;
  readonly schema?: TableSchema | undefined;
  /** Default: the rows of `spends` as JSON. */
  readonly body?: string;
  readonly request?: Partial<ReportRequest>;
}

export interface Snapshot {
  readonly execution: string;
  readonly copied_at: string;
  readonly items: readonly unknown[];
  readonly accept_empty?: boolean;
}

/** Tables in a local S3. */
export async function startTables(options: TestS3Options = {}) {
  const s3 = await startTestS3(options);
  const store = createObjectStore({ BUCKET, BUCKET_OWNER: LOCAL_AWS_ACCOUNT }, s3ConfigOf(s3));
  const catalog = { getTable: async () => TABLE };
  const workOn = async (body: string, kind: { format?: string; content_type: string }) => {
    const folder = join(mkdtempSync(join(s3.directory, 'curate-')), 'scratch');
    mkdirSync(join(folder, 'file'), { recursive: true });
    const { signal } = new AbortController();
    writeFileSync(join(folder, 'file/copy'), body);
    const file = await findRows(join(folder, 'file/copy'), { ...kind, signal });
    return { catalog, file, folder, signal, hash: 'h' };
  };

  let accounts = 0;
  return {
    s3,
    store,
    close: () => s3.close(),
    /**
     * Delivers reports for an account of their own, one after the other. Each is newer than the one before
     * it.
     */
    async deliver(...reports: readonly Partial<Report>[]) {
      accounts += 1;
      const account = `a${accounts}`;
      const results: Curation[] = [];
      for (const [at, report] of reports.entries()) {
        const created_at = new Date(Date.UTC(2026, 10, 1 + at)).toISOString();
        results.push(await this.curate({ id: `r${at + 1}`, created_at, spends: {}, account, ...report }));
      }
      return { account, last: results.at(-1) };
    },
    /** @param through the store, or one that fails */
    async curate(report: Report, through: Pick<ObjectStore, 'getFile' | 'putFile'> = store) {
      const { spends, hash = 'h', accept_empty = false } = report;
      const schema = 'schema' in report ? report.schema : TABLE;
      const rows = Object.entries(spends).flatMap(([date, day]) =>
        day.map((spend, at) => ({ date, campaign_id: `c${at}`, spend })),
      );
      const work = await workOn(report.body ?? JSON.stringify(rows), {
        format: 'JSON',
        content_type: 'application/json',
      });
      using database = await openDatabase(work.folder, work.signal);
      return await curateRows(stateOf(report), {
        ...work,
        database,
        store: through,
        schema,
        hash,
        acceptedAt: () => (accept_empty ? (report.copied_at ?? COPIED_AT) : undefined),
      });
    },
    async curateList({ items, accept_empty = false, ...snapshot }: Snapshot) {
      const body = items.map((item) => `${JSON.stringify(item)}\n`).join('');
      const work = await workOn(body, { content_type: 'application/x-ndjson' });
      const state = listState(snapshot, items.length);
      using database = await openDatabase(work.folder, work.signal);
      const acceptedAt = () => (accept_empty ? snapshot.copied_at : undefined);
      return await curateList(state, { ...work, database, store, schema: LIST, acceptedAt });
    },
    /** Rows of a table, as a reader sees them. */
    async rowsOf(select: string, pattern: string) {
      const files = await Array.fromAsync(glob(join(s3.directory, BUCKET, 'tables', pattern)));
      return files.length === 0
        ? []
        : query(`${select} FROM read_parquet([${files.sort().map((file) => `'${file}'`)}])`);
    },
    /** The days that the objects of an account list. */
    shownDays: (table: string, account = 'acme') =>
      shownDays(join(s3.directory, BUCKET, 'tables', table), account),
  };
}

function stateOf({
  id,
  created_at,
  spends,
  account = 'acme',
  accept_empty,
  request,
  ...report
}: Report): SavedWindow {
  const days = Object.keys(spends).sort();
  const start_date = report.start_date ?? days[0] ?? '2026-10-01';
  const end =
    report.length === undefined ? addDays(days.at(-1) ?? start_date, 1) : addDays(start_date, report.length);
  const state = windowOf([]);
  return {
    ...state,
    request: { ...state.request, account, ...request },
    window: { start_date, end_date: end },
    reports: [reportRef(id, created_at)],
    ready_id: id,
    object: storedObject({ copied_at: report.copied_at ?? COPIED_AT }),
  };
}

function listState({ execution, copied_at }: Omit<Snapshot, 'items'>, rows: number): SavedWindow {
  const { request: _, ...state } = windowOf([]);
  const start_date = copied_at.slice(0, 10);
  const window = { start_date, end_date: addDays(start_date, 1) };
  const request = { ...NORMALIZED_LIST, ...window };
  return { ...state, execution, request, window, object: storedObject({ copied_at, rows }) };
}
