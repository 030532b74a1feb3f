import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { sentRequest } from '../../../../functions/days/manifest.ts';
import type { Run } from '../../../../functions/days/runs.ts';
import { requestHash } from '../../../../functions/decisions/request-hash.ts';
import { runKey } from '../../../../functions/workflow/keys.ts';
import { addDays } from '../../../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';
import { base64Crc } from '../../../../infra/lab/local/s3/objects.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../../infra/lab/local/s3/server.ts';
import { runLocalQuery } from '../../../../infra/operate/cli/query/local.ts';
import type { RebuildResult } from '../../../../infra/operate/cli/rebuild-lines.ts';
import { runCommand } from '../../../support/cli.ts';
import { manifestOf } from '../../../support/manifests.ts';
import { REPORT } from '../../../support/requests.ts';
import { startTestS3 } from '../../../support/s3.ts';

export const BUCKET = 'bucket';

/** A window whose report, or whose list, was delivered. */
interface Delivery {
  readonly name?: string;
  readonly account?: string;
  /** The first and the last day, of October 2026. */
  readonly days: readonly [number, number];
  /**
   * The hour from November 1 on in which the report was created. Its rows spend as much a day, unless `spend`
   * is given.
   */
  readonly created: number;
  readonly report_id?: string;
  readonly table_problem?: string;
  /** Days that the table held, if it took the file. */
  readonly held?: number;
  readonly spend?: unknown;
  /** Other fields of each row. */
  readonly fields?: Record<string, unknown>;
  /** Other fields of the request. */
  readonly request?: Record<string, unknown>;
  readonly platform?: string;
  readonly revision?: string;
  /** The rows of the file, instead of one a day. */
  readonly rows?: readonly object[];
  /** The file of a report in CSV. */
  readonly csv?: string;
  /** The file that another run has put there since. */
  readonly replacedBy?: string;
}

/** Opens a folder with the buckets of local runs, or of AWS, until the test ends. */
export async function openFolder(onEnd: (close: () => Promise<void>) => void = onTestFinished) {
  const { directory: out, endpoint, faults, client, close } = await startTestS3({ buckets: [BUCKET] });
  onEnd(close);
  const put = (Key: string, Body: string, ContentType = 'application/json') =>
    client.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        ExpectedBucketOwner: LOCAL_AWS_ACCOUNT,
        Key,
        Body,
        ContentType,
      }),
    );
  return { out, endpoint, faults, put };
}

export type Folder = Awaited<ReturnType<typeof openFolder>>;

export const dateOf = (day: number) => addDays('2026-10-01', day - 1);
export const timeOf = (hour: number) => new Date(Date.UTC(2026, 10, 1, hour)).toISOString();

/** Leaves what an export leaves: the file and the manifest. The table is as if CurateReport had failed. */
export async function deliver({ put }: Folder, delivery: Delivery): Promise<void> {
  const { name = 'daily', account = 'acme', created, days, replacedBy } = delivery;
  const { platform = '127.0.0.1', revision = '2026-09-01' } = delivery;
  const [first, last] = days;
  const window = { start_date: dateOf(first), end_date: dateOf(last + 1) };
  const input = { ...(delivery.request?.kind === undefined && REPORT), name, account, ...delivery.request };
  const { request } = parseRequest(input, new Date());
  const dates = Array.from({ length: last - first + 1 }, (_, at) => dateOf(first + at));
  const spend = delivery.spend ?? created;
  const rows = delivery.rows ?? dates.map((date) => ({ date, spend, ...delivery.fields }));
  const json =
    request.kind === 'list' ? rows.map((row) => `${JSON.stringify(row)}\n`).join('') : JSON.stringify(rows);
  const file = delivery.csv ?? json;
  const prefix = `exports/account=${account}/export=${name}/start_date=${window.start_date}/end_date=${window.end_date}`;
  const { export_request, request_hash, report_id, report_created_at, ...common } = manifestOf(
    { ...request, ...window },
    `e-${created}`,
    { platform, revision },
  );
  await put(common.key, replacedBy ?? file);
  const manifest = {
    ...common,
    request: sentRequest(request, window),
    time_zone: request.kind === 'report' ? request.time_zone : undefined,
    // A window of November belongs to an export that ends with it.
    export_request: window.end_date > request.end_date ? { ...request, end_date: window.end_date } : request,
    request_hash: requestHash(request, { platform, revision }),
    ...(request.kind === 'report' && {
      report_id: delivery.report_id ?? `r-${created}`,
      report_created_at: timeOf(created),
    }),
    bytes: file.length,
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: base64Crc(crc32(file)) },
    copied_at: timeOf(created),
    published_at: timeOf(created),
    table_problem: delivery.table_problem,
    ...(delivery.held !== undefined && {
      table: { name, days: 0, kept: 0, restated: 0, held: delivery.held },
    }),
  };
  await put(`${prefix}/_manifest.json`, JSON.stringify(manifest));
}

/** Leaves what a run that did not finish leaves. @returns the key of its object */
export async function leaveRun(out: string, input: unknown, changes: Partial<Run> = {}): Promise<string> {
  const { request } = parseRequest(input, new Date());
  const { start_date, end_date } = request;
  const windows = [{ start_date, end_date }];
  const run: Run = { version: '1', execution: 'e', began_at: timeOf(1), request, windows, ...changes };
  const key = runKey(request, run.execution);
  const file = join(out, BUCKET, key);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(run));
  return key;
}

export async function rebuild(args: readonly string[]) {
  const { status, stdout, stderr } = await runCommand(['rebuild', '--json', ...args]);
  if (stdout === '') throw new Error(stderr);
  return { status, stderr, result: JSON.parse(stdout) as RebuildResult & { faults?: string[] } };
}

/** The spend of each day of October, by its number. */
export async function spendIn(out: string, table = 'daily'): Promise<Record<string, number>> {
  const rows = await queryRows(`SELECT day(date), spend FROM ${table} ORDER BY date`, out);
  return Object.fromEntries(rows.map(([day, spend]) => [String(day), Number(spend)]));
}

/** The rows of a query over a folder of local runs. */
export async function queryRows(sql: string, out: string) {
  const { rows } = await runLocalQuery(sql, out);
  return (await Array.fromAsync(rows)).flat();
}
