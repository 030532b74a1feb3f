import { createHash, randomUUID } from 'node:crypto';
import { Refusal, refuseViolations } from '../envelope.ts';
import { type Answer, type Incoming, json, parseObject } from '../exchange.ts';
import type { Grant } from '../oauth/tokens.ts';
import type { PerReport, ReportSettings } from '../settings.ts';
import { presign } from '../storage/signature.ts';
import type { World } from '../world.ts';
import { type ReportRequest, reportRequest, reportViolations } from './report-request.ts';
import { type FileSize, type ReportFile, reportFile } from './rows.ts';

export type Report = {
  id: string;
  /** 1 for the first report that this sandbox created. */
  ordinal: number;
  account: string;
  request: ReportRequest;
  createdAt: number;
  processingAt: number;
  readyAt: number;
  file: ReportFile;
  /** Grows when a fault changes the object between two ranges. */
  version: number;
};

/** Contract 4.3. */
export function createReport(world: World, request: Incoming, grant: Grant): Answer {
  const body = jsonBody(request);
  refuseViolations(reportViolations(world, grant, body));
  const report = newReport(world, grant, reportRequest(body));
  world.reports.set(report.id, report);
  return json(201, { id: report.id, status: 'CREATED' });
}

/** Contract 4.4. A report of another account is as unknown as one that never was. */
export function getReport(world: World, id: string, grant: Grant, previousGet: number | undefined): Answer {
  const report = world.reports.get(id);
  if (!report || report.account !== grant.credential.account) {
    throw new Refusal(404, 'not_found', `There is no report ${id}.`);
  }
  refuseHaste(world, previousGet);
  const now = world.now();
  if (now < report.processingAt) return json(200, { id, status: 'CREATED' });
  if (now < report.readyAt) return json(200, { id, status: 'PROCESSING' });
  return json(200, { id, status: 'READY', download_url: presign(world, report) });
}

/** The body of a POST; anything but a JSON object is malformed (contract 7.2), and what is in it comes later. */
export function jsonBody(request: Incoming): Record<string, unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Refusal(400, 'validation', 'Content-Type must be application/json.');
  }
  const body = parseObject(request.body);
  if (!body) throw new Refusal(400, 'validation', 'The body is not a JSON object.');
  return body;
}

function refuseHaste(world: World, previousGet: number | undefined): void {
  if (previousGet === undefined) return;
  const between = world.options.report?.secondsBetweenGets ?? 10;
  if (world.now() - previousGet >= between * 1000) return;
  // This GET counts as well, so the wait starts afresh: a client that hammers is never let through.
  throw new Refusal(429, 'rate_limited', `A report may be asked for once every ${between} s.`, {
    headers: { 'retry-after': String(Math.ceil(between)) },
  });
}

function newReport(world: World, grant: Grant, request: ReportRequest): Report {
  const settings = world.options.report ?? {};
  const ordinal = world.reports.size + 1;
  const createdAt = world.now();
  const after = (given: PerReport | undefined, standard: number): number =>
    createdAt +
    1000 * (given === undefined ? standard * spread(request) : numberFor(given, request, ordinal));
  return {
    id: randomUUID(),
    ordinal,
    account: grant.credential.account,
    request,
    createdAt,
    processingAt: after(settings.secondsToProcessing, 5),
    readyAt: after(settings.secondsToReady, 25),
    file: reportFile(request, sizeFor(settings, request, ordinal)),
    version: 0,
  };
}

function sizeFor({ rows, bytes }: ReportSettings, request: ReportRequest, ordinal: number): FileSize {
  if (bytes !== undefined) return { bytes: numberFor(bytes, request, ordinal), version: 0 };
  if (rows !== undefined) return { rows: numberFor(rows, request, ordinal), version: 0 };
  return { version: 0 };
}

function numberFor(value: PerReport, request: ReportRequest, ordinal: number): number {
  return typeof value === 'number' ? value : value(request, ordinal);
}

/** From 0.6 to 1.4, the same for the same request. */
function spread(request: ReportRequest): number {
  const byte = createHash('sha256').update(JSON.stringify(request)).digest().readUInt16BE(0);
  return 0.6 + (0.8 * byte) / 0xffff;
}
