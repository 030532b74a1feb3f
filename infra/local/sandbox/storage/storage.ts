import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer, Call } from '../exchange.ts';
import type { Misbehaviour } from '../faults/faults.ts';
import { reshape } from '../faults/reshape.ts';
import { headersOf, reset, write } from '../listen.ts';
import type { Report } from '../reporting/reports.ts';
import { type ReportFile, reportFile } from '../reporting/rows.ts';
import type { World } from '../world.ts';
import { type Download, sendBody } from './body.ts';
import { signatureFault } from './signature.ts';

/** Headers that must never reach the storage host: the platform's. */
const FOREIGN = ['authorization', 'x-api-key', 'x-service-revision'];

/** The host of the pre-signed URLs: S3 as far as one GET of one object goes. */
export async function serveStorage(
  world: World,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.sendDate = false;
  response.setHeader('date', new Date(world.now()).toUTCString());
  const url = new URL(message.url ?? '/', 'http://127.0.0.1');
  const report = world.reports.get(url.pathname.match(/^\/reports\/([^/]+)\.json$/)?.[1] ?? '');
  const call = record(world, message, url, report);
  const fault = world.faults.take({ endpoint: 'storage', path: call.path, ordinal: report?.ordinal });
  if (fault.reset !== undefined) return reset(response);
  if (fault.hang) return;
  if (report && fault.changed) change(report);
  const answer = answerTo(world, call, fault, report);
  if ('file' in answer) return sendBody(response, answer, call, fault, world.now());
  await write(response, reshape(answer, fault, world.now()), call, fault);
}

function answerTo(
  world: World,
  call: Call,
  fault: Misbehaviour,
  report: Report | undefined,
): Answer | Download {
  if (fault.status !== undefined && fault.status >= 300) return xml(fault.status);
  const foreign = FOREIGN.find((name) => call.headers[name] !== undefined);
  if (foreign)
    return xml(400, 'InvalidArgument', `Only one auth mechanism allowed; remove the header ${foreign}.`);
  const refused = signatureFault(world, call.path, new URLSearchParams(call.query));
  if (refused === 'expired') return xml(403, 'AccessDenied', 'Request has expired');
  // The signature covers the method, so a URL signed for GET is no good for HEAD.
  if (refused || call.method !== 'GET')
    return xml(403, 'SignatureDoesNotMatch', 'The signature does not match.');
  if (!report) return xml(404, 'NoSuchKey', 'The specified key does not exist.');
  const download = ranged(report.file, call, fault);
  // A body given by a fault stands for the object itself.
  return fault.body === undefined || !('file' in download)
    ? download
    : { status: download.status, headers: download.headers };
}

/** RFC 9110 13 and 14: If-Match, then one Range; several ranges are answered with the whole object, as S3 does. */
function ranged(file: ReportFile, call: Call, fault: Misbehaviour): Answer | Download {
  const headers = { 'content-type': 'application/json', 'accept-ranges': 'bytes', etag: file.etag };
  const { 'if-match': ifMatch, range } = call.headers;
  if (ifMatch !== undefined && ifMatch !== '*' && !ifMatch.split(/\s*,\s*/).includes(file.etag)) {
    return xml(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
  }
  const asked = fault.ignoreRange ? undefined : range?.match(/^bytes=(\d*)-(\d*)$/);
  if (!asked || asked[0] === 'bytes=-') return { status: 200, headers, file, start: 0, end: file.length };
  const [, from = '', to = ''] = asked;
  const start = from === '' ? Math.max(0, file.length - Number(to)) : Number(from);
  const end = from === '' || to === '' ? file.length : Math.min(file.length, Number(to) + 1);
  if (start >= end)
    return xml(416, 'InvalidRange', 'The requested range is not satisfiable', `bytes */${file.length}`);
  const contentRange = `bytes ${start}-${end - 1}/${file.length}`;
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, file, start, end };
}

const CODES: Readonly<Record<number, readonly [code: string, message: string]>> = {
  403: ['AccessDenied', 'Request has expired'],
  404: ['NoSuchKey', 'The specified key does not exist.'],
  500: ['InternalError', 'We encountered an internal error. Please try again.'],
  503: ['SlowDown', 'Please reduce your request rate.'],
};

function xml(
  status: number,
  code = CODES[status]?.[0],
  message = CODES[status]?.[1],
  contentRange?: string,
): Answer {
  if (status < 400) return { status, headers: {} };
  const body = `<Code>${code ?? 'Error'}</Code><Message>${message ?? 'As told.'}</Message>`;
  return {
    status,
    headers: {
      'content-type': 'application/xml',
      ...(contentRange ? { 'content-range': contentRange } : {}),
    },
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${body}</Error>`,
  };
}

/** Puts another object in the place of the report's: other bytes of the same length, another ETag. */
function change(report: Report): void {
  report.version += 1;
  report.file = reportFile(report.request, {
    rows: report.file.rows,
    version: report.version,
    bytes: report.file.length,
  });
}

function record(world: World, message: IncomingMessage, url: URL, report: Report | undefined): Call {
  const call: Call = {
    at: world.now(),
    host: 'storage',
    endpoint: 'storage',
    method: message.method ?? '',
    path: url.pathname,
    query: url.search,
    headers: headersOf(message),
    body: '',
    status: null,
    ...(report ? { reportId: report.id } : {}),
    bytes: 0,
  };
  world.journal.push(call);
  return call;
}
