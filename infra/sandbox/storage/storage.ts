import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { PLATFORM_HEADERS } from '../authenticate.ts';
import type { Answer, Call } from '../exchange.ts';
import { applyFault } from '../faults/faults.ts';
import type { FaultEffect } from '../faults/parse-fault.ts';
import { byteByByte, type Pieces, recordCall, reset, sendAnswer, upTo } from '../http.ts';
import type { ReportFile } from '../reporting/report-file.ts';
import type { Report, SandboxState } from '../state.ts';

/** Serves the pre-signed URLs. It behaves like S3 for a GET of one object. */
export async function serveStorage(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path, search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const report = state.reports.get(path.match(/^\/reports\/([^/]+)\.(?:json|csv)$/)?.[1] ?? '');
  const about = { endpoint: 'storage', path, query, reportId: report?.id } as const;
  const call = recordCall(state, request, about);
  const fault = state.faults.take({ endpoint: 'storage', ordinal: report?.ordinal });
  if (fault.reset !== undefined) return reset(response);
  if (fault.hang) return;
  if (report && fault.changed) replaceFile(report);
  const answer = answerTo(state, call, fault, report);
  if ('file' in answer) return sendDownload(response, answer, call, fault, state.now());
  await sendAnswer(response, applyFault(answer, fault, state.now()), call, fault);
}

function answerTo(
  state: SandboxState,
  call: Call,
  fault: FaultEffect,
  report: Report | undefined,
): Answer | Download {
  if (fault.status !== undefined && fault.status >= 300) return xmlError(fault.status);
  const foreign = PLATFORM_HEADERS.find((name) => call.headers[name] !== undefined);
  if (foreign)
    return xmlError(400, 'InvalidArgument', `Only one auth mechanism allowed; remove the header ${foreign}.`);
  const expiresAt = state.downloadUrls.get(call.path + call.query);
  // The signature includes the method, so a URL signed for GET does not work for HEAD.
  if (expiresAt === undefined || !report || call.method !== 'GET')
    return xmlError(403, 'SignatureDoesNotMatch', 'The signature does not match.');
  if (expiresAt <= state.now()) return xmlError(403);
  const download = readRange(report, call, fault);
  if (fault.body === undefined || !('file' in download)) return download;
  return { status: download.status, headers: download.headers };
}

/**
 * Applies If-Match, then Range (RFC 9110, 13 and 14). Several ranges get the whole object, as on S3, and so
 * does the end of a file, which no client asks for.
 */
function readRange({ file, request }: Report, call: Call, fault: FaultEffect): Answer | Download {
  const type = request.format === 'CSV' ? 'text/csv' : 'application/json';
  const headers = { 'content-type': type, 'accept-ranges': 'bytes', etag: file.etag };
  const { 'if-match': ifMatch, range } = call.headers;
  if (ifMatch !== undefined && ifMatch !== file.etag) {
    return xmlError(
      412,
      'PreconditionFailed',
      'At least one of the pre-conditions you specified did not hold',
    );
  }
  const [, from, to = ''] = (!fault.ignore_range && range?.match(/^bytes=(\d+)-(\d*)$/)) || [];
  if (from === undefined) return { status: 200, headers, file, start: 0, end: file.length };
  const start = Number(from);
  const end = to === '' ? file.length : Math.min(file.length, Number(to) + 1);
  if (start >= end) {
    const refused = xmlError(416, 'InvalidRange', 'The requested range is not satisfiable');
    return { ...refused, headers: { ...refused.headers, 'content-range': `bytes */${file.length}` } };
  }
  const contentRange = `bytes ${start}-${end - 1}/${file.length}`;
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, file, start, end };
}

const ERRORS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  403: ['AccessDenied', 'Request has expired'],
  404: ['NoSuchKey', 'The specified key does not exist.'],
  500: ['InternalError', 'We encountered an internal error. Please try again.'],
  503: ['SlowDown', 'Please reduce your request rate.'],
};

function xmlError(
  status: number,
  code = ERRORS[status]?.[0] ?? 'Error',
  message = ERRORS[status]?.[1],
): Answer {
  if (status < 400) return { status, headers: {} };
  const body = `<Code>${code}</Code><Message>${message ?? `The sandbox was told to answer ${status}.`}</Message>`;
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${body}</Error>`,
  };
}

/** Other bytes of the same length, and another ETag. */
function replaceFile(report: Report): void {
  report.version += 1;
  report.file = report.file.withVersion(report.version);
}

/** The bytes of a file from start to end (exclusive), with the status and headers of the response. */
type Download = {
  status: 200 | 206;
  headers: Record<string, string>;
  file: ReportFile;
  start: number;
  end: number;
};

/** Streams a file as fast as the client reads it, with the effects of the fault. */
async function sendDownload(
  response: ServerResponse,
  download: Download,
  call: Call,
  fault: FaultEffect,
  now: number,
): Promise<void> {
  const { status, headers } = applyFault({ ...download, headers: headersFor(download, fault) }, fault, now);
  call.status = status;
  if (fault.framing === 'close') {
    // Node then sends neither Content-Length nor chunks: the body ends when the connection closes.
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  const { reset_after = Infinity, cut_after = Infinity, stall_after = Infinity } = fault;
  const limit = Math.min(reset_after, cut_after, stall_after);
  await pipeline(upTo(limit, piecesOf(download, fault), call), response, { end: false });
  // The callback of a write comes when every byte before it has left this process. A reset discards bytes
  // that have not.
  if (call.bytes < limit) response.end();
  else if (limit === reset_after) response.write('', () => reset(response));
  else if (limit === cut_after) response.socket?.end();
}

function headersFor({ headers, start, end }: Download, fault: FaultEffect): Record<string, string> {
  const { etag, ...others } = headers;
  const { framing, endless, gzip } = fault;
  const hasLength = framing !== 'chunked' && framing !== 'close' && !endless && gzip !== 'right';
  return {
    ...others,
    ...(etag === undefined || fault.etag === 'none'
      ? {}
      : { etag: fault.etag === 'weak' ? `W/${etag}` : etag }),
    ...(hasLength ? { 'content-length': String(end - start) } : {}),
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  };
}

function piecesOf({ file, start, end }: Download, { endless, gzip, trickle }: FaultEffect): Pieces {
  const pieces = endless ? endlessly(file.read(start, end - 2)) : file.read(start, end);
  const encoded =
    gzip === 'right' ? Readable.from(pieces, { objectMode: false }).pipe(createGzip({ level: 1 })) : pieces;
  return trickle === undefined ? encoded : byteByByte(encoded, trickle);
}

/** Adds line breaks forever instead of the end of the JSON array. */
function* endlessly(start: Iterable<Buffer>): Generator<Buffer> {
  yield* start;
  for (;;) yield Buffer.alloc(64 * 1024, '\n');
}
