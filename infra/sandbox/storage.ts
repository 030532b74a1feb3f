import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Answer, Call } from './exchange.ts';
import { applyFault, type FaultEffect } from './faults.ts';
import { receive, reset, sendAnswer } from './http.ts';
import type { ReportFile } from './reporting/report-file.ts';
import type { Report, SandboxState } from './state.ts';

/** The platform's headers. They must never reach the storage host. */
const PLATFORM_HEADERS = ['authorization', 'x-api-key', 'x-service-revision'];

/** Serves the pre-signed URLs. It behaves like S3 for a GET of one object. */
export async function serveStorage(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { call, report, fault } = receive(state, request, (path) => ({
    endpoint: 'storage',
    reportId: /^\/reports\/([^/]+)\.(?:json|csv)$/.exec(path)?.[1],
  }));
  if (fault.reset !== undefined) return reset(response);
  if (fault.hang) return;
  if (report && fault.changed) report.file = report.file.withVersion(++report.version);
  const answer = answerTo(state, call, fault, report);
  await sendAnswer(response, applyFault(answer, fault, state.now()), call, fault);
}

function answerTo(state: SandboxState, call: Call, fault: FaultEffect, report: Report | undefined): Answer {
  const { status = 200 } = fault;
  if (status >= 400) return xmlError(status, 'Error', `The sandbox was told to answer ${status}.`);
  if (status >= 300) return { status, headers: {} };
  const foreign = PLATFORM_HEADERS.find((name) => call.headers[name] !== undefined);
  if (foreign)
    return xmlError(400, 'InvalidArgument', `Only one auth mechanism allowed; remove the header ${foreign}.`);
  const expiresAt = state.downloadUrls.get(call.path + call.query);
  // The signature includes the method, so a URL signed for GET does not work for HEAD.
  if (expiresAt === undefined || !report || call.method !== 'GET')
    return xmlError(403, 'SignatureDoesNotMatch', 'The signature does not match.');
  if (expiresAt <= state.now()) return xmlError(403, 'AccessDenied', 'Request has expired');
  return serveRange(report, call, fault);
}

/** Applies If-Match, then the Range of a rest (RFC 9110, 13 and 14). Any other range gets the whole file. */
function serveRange({ file, request }: Report, { headers }: Call, fault: FaultEffect): Answer {
  const { 'if-match': ifMatch, range = '' } = headers;
  if (ifMatch !== undefined && ifMatch !== file.etag)
    return xmlError(412, 'PreconditionFailed', 'At least one of the pre-conditions did not hold');
  const [, from] = (!fault.ignore_range && /^bytes=(\d+)-$/.exec(range)) || [];
  const start = Number(from ?? 0);
  if (start >= file.length) return xmlError(416, 'InvalidRange', 'The requested range is not satisfiable');
  const { framing, etag, endless, gzip, body } = fault;
  const isFramed = framing === 'chunked' || framing === 'close' || endless || gzip === 'right';
  return {
    status: from === undefined ? 200 : 206,
    headers: {
      'content-type': request.format === 'CSV' ? 'text/csv' : 'application/json',
      ...(from !== undefined && { 'content-range': `bytes ${start}-${file.length - 1}/${file.length}` }),
      ...(etag !== 'none' && { etag: etag === 'weak' ? `W/${file.etag}` : file.etag }),
      ...(!isFramed && body === undefined && { 'content-length': String(file.length - start) }),
      ...(gzip && { 'content-encoding': 'gzip' }),
    },
    pieces: piecesOf(file, start, fault),
  };
}

function xmlError(status: number, code: string, message: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  };
}

function piecesOf(file: ReportFile, start: number, { endless, gzip }: FaultEffect) {
  const pieces = endless ? endlessly(file.read(start, file.length - 2)) : file.read(start);
  if (gzip !== 'right') return pieces;
  return Readable.from(pieces, { objectMode: false }).pipe(createGzip({ level: 1 }));
}

/** Adds line breaks forever instead of the end of the JSON array. */
function* endlessly(start: Iterable<Buffer>): Generator<Buffer> {
  yield* start;
  for (;;) yield Buffer.alloc(64 * 1024, '\n');
}
