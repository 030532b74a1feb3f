import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { json, type Listening, listen, type Seen } from '../../support/listen.ts';

/** What goes wrong on the way of one report. */
export interface Trouble {
  /** The report ends as FAILED, for this reason. */
  readonly fails?: string;
  /** The report is COMPLETED once, and FAILED from then on, for this reason. */
  readonly failsWhenReady?: unknown;
  /** The report is created, and the connection breaks before the answer. */
  readonly losesAnswer?: true;
  /** The first poll of the report ends every token. */
  readonly endsTokens?: true;
  /** The first download breaks off in its middle. */
  readonly breaksDownload?: true;
}

interface Report {
  readonly id: string;
  readonly body: string;
  readonly trouble: Trouble;
  polls: number;
  downloads: number;
}

export const CLIENT = { client_id: 'amzn1.client', client_secret: 'client-secret', refresh_token: 'Atzr|1' };
export const PROFILE = '3141592653589';

/** A call that reached the server, in the order of arrival. */
export interface Received extends Seen {
  readonly host: string;
}

export interface OtherPlatform extends AsyncDisposable {
  readonly baseUrl: string;
  readonly received: Received[];
  /** The status for a report that does not exist. At first 404. */
  unknownId: 400 | 404;
  /** How often the file of a report was asked for. */
  downloadsOf(id: string): number | undefined;
  /** The trouble of the reports that are created from now on, in this order. */
  plan(...troubles: readonly Trouble[]): void;
}

/**
 * A server that knows the other contract and nothing else: it refuses each call that differs. A report is
 * PENDING at the first poll, and has ended at the second.
 */
export async function startOtherPlatform(): Promise<OtherPlatform> {
  const received: Received[] = [];
  const reports: Report[] = [];
  const tokens = new Set<string>();
  let issued = 0;
  let planned: Trouble[] = [];

  const storage: Listening = await listen(({ path, headers }, response) => {
    const report = reports.find(({ id }) => path === `/${id}.json.gz?X-Amz-Signature=${id}`);
    if (!report || headers.authorization !== undefined) return json(response, 403, {});
    report.downloads += 1;
    sendFile(response, fileOf(report), report.trouble.breaksDownload === true && report.downloads === 1);
  });

  const platform = await listen((seen, response) => {
    const call = { ...seen, host: seen.headers.host ?? '' };
    received.push(call);
    if (call.host.startsWith('localhost:')) return answerToken(call, response);
    const token = /^Bearer (.+)$/.exec(seen.headers.authorization ?? '')?.[1];
    const { 'amazon-advertising-api-clientid': client, 'amazon-advertising-api-scope': profile } =
      seen.headers;
    if (token === undefined || !tokens.has(token) || client !== CLIENT.client_id)
      return refuse(response, 401, 'UNAUTHORIZED');
    if (profile !== PROFILE) return refuse(response, 401, 'UNAUTHORIZED');
    if (seen.method === 'POST' && seen.path === '/reporting/reports') return create(call, response);
    const id = /^\/reporting\/reports\/([^/]+)$/.exec(seen.path)?.[1];
    const report = reports.find((candidate) => candidate.id === id);
    if (seen.method !== 'GET' || !report) return refuse(response, started.unknownId, 'NOT_FOUND');
    poll(report, response);
  });

  function answerToken({ path, method, body, headers }: Received, response: ServerResponse) {
    const form = Object.fromEntries(new URLSearchParams(body));
    const isRight =
      method === 'POST' &&
      path === '/auth/o2/token' &&
      headers.authorization === undefined &&
      isDeepStrictEqual(form, { grant_type: 'refresh_token', ...CLIENT });
    if (!isRight) return json(response, 400, { error: 'invalid_client' });
    // JSON writes a quote in another way.
    const access_token = `Atza|"${++issued}"`;
    tokens.add(access_token);
    json(response, 200, {
      access_token,
      refresh_token: CLIENT.refresh_token,
      token_type: 'bearer',
      expires_in: 3600,
    });
  }

  function create({ body, headers }: Received, response: ServerResponse) {
    if (headers['content-type'] !== 'application/vnd.createasyncreportrequest.v3+json')
      return refuse(response, 415, 'UNSUPPORTED_MEDIA_TYPE');
    const { startDate, endDate, configuration } = JSON.parse(body);
    const days = (Date.parse(endDate) - Date.parse(startDate)) / DAY_MS + 1;
    const isKnown = configuration.format === 'GZIP_JSON' && configuration.timeUnit === 'DAILY';
    if (!(days >= 1 && days <= 31) || !isKnown) return refuse(response, 400, 'BAD_REQUEST');
    const same = reports.find((report) => report.body === body && !hasFailed(report));
    if (same)
      return json(response, 425, { code: '425', detail: `The Request is a duplicate of : ${same.id}` });
    const [trouble = {}, ...later] = planned;
    planned = later;
    const report = { id: `rep.${reports.length + 1}`, body, trouble, polls: 0, downloads: 0 };
    reports.push(report);
    if (trouble.losesAnswer) return response.destroy();
    json(response, 200, { reportId: report.id, status: 'PENDING', ...JSON.parse(body) });
  }

  function poll(report: Report, response: ServerResponse) {
    const { id: reportId, trouble } = report;
    report.polls += 1;
    if (trouble.endsTokens && report.polls === 1) {
      tokens.clear();
      return refuse(response, 401, 'UNAUTHORIZED');
    }
    if (report.polls === 1) return json(response, 200, { reportId, status: 'PENDING' });
    if (trouble.fails !== undefined)
      return json(response, 200, { reportId, status: 'FAILED', failureReason: trouble.fails });
    if (trouble.failsWhenReady !== undefined && report.polls > 2)
      return json(response, 200, { reportId, status: 'FAILED', failureReason: trouble.failsWhenReady });
    const url = `${storage.url}/${reportId}.json.gz?X-Amz-Signature=${reportId}`;
    json(response, 200, { reportId, status: 'COMPLETED', url });
  }

  const started: OtherPlatform = {
    baseUrl: platform.url,
    received,
    unknownId: 404,
    downloadsOf: (id) => reports.find((report) => report.id === id)?.downloads,
    plan(...troubles) {
      planned = [...troubles];
    },
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
  return started;
}

function hasFailed({ trouble: { fails, failsWhenReady } }: Report): boolean {
  return fails !== undefined || failsWhenReady !== undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;

function refuse(response: ServerResponse, status: number, code: string) {
  json(
    response,
    status,
    { code, details: `The server answers ${status}.` },
    { 'x-amzn-RequestId': `amz-${status}` },
  );
}

/** A row for each day, with the columns that were asked for. */
function fileOf({ body }: Report): Buffer {
  const { startDate, endDate, configuration } = JSON.parse(body);
  const rows: object[] = [];
  for (let day = Date.parse(startDate); day <= Date.parse(endDate); day += DAY_MS) {
    const date = new Date(day).toISOString().slice(0, 10);
    const { columns } = configuration as { columns: string[] };
    rows.push(Object.fromEntries(columns.map((name) => [name, cellOf(name, date)])));
  }
  return gzipSync(JSON.stringify(rows));
}

function cellOf(column: string, date: string): string | number {
  return { date, cost: 1.5, clicks: 2 }[column] ?? `${column} of ${date}`;
}

function sendFile(response: ServerResponse, file: Buffer, breaksOff: boolean) {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': file.length });
  if (breaksOff) response.write(file.subarray(0, file.length / 2), () => response.destroy());
  else response.end(file);
}
