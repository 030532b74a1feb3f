import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Answer, Call } from './exchange.ts';
import { applyFault, type FaultEffect } from './faults.ts';
import { receive, reset, sendAnswer } from './http.ts';
import type { ReportFile } from './reporting/create-report-file.ts';
import type { ReportInMemory } from './reporting/report-memory.ts';
import { contentTypeOf } from './reporting/reports.ts';
import type { SandboxState } from './state.ts';

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
  const answer = answerDownload(state, call, fault, report);
  await sendAnswer(response, applyFault(answer, fault, state.now()), call, fault);
}

function answerDownload(
  state: SandboxState,
  call: Call,
  fault: FaultEffect,
  report: ReportInMemory | undefined,
): Answer {
  const { status = 200 } = fault;
  if (status >= 400) return xmlError(status, 'Error', `The sandbox was told to answer ${status}.`);
  if (status >= 300) return { status, headers: {} };
  const foreign = PLATFORM_HEADERS.find((name) => call.headers[name] !== undefined);
  if (foreign)
    return xmlError(400, 'InvalidArgument', `Only one auth mechanism allowed; remove the header ${foreign}.`);
  const expiresAt = state.reports.downloadUrls.get(call.path + call.query);
  // The signature includes the method, so a URL signed for GET does not work for HEAD.
  if (expiresAt === undefined || !report || call.method !== 'GET')
    return xmlError(403, 'SignatureDoesNotMatch', 'The signature does not match.');
  if (expiresAt <= state.now()) return xmlError(403, 'AccessDenied', 'Request has expired');
  return serveRange(report, call, fault);
}

/** Applies If-Match, then Range (RFC 9110, 13 and 14). */
function serveRange({ file, request }: ReportInMemory, { headers }: Call, fault: FaultEffect): Answer {
  const { 'if-match': ifMatch, range = '' } = headers;
  if (ifMatch !== undefined && ifMatch !== file.etag)
    return xmlError(412, 'PreconditionFailed', 'At least one of the pre-conditions did not hold');
  const part = fault.ignore_range ? undefined : readRange(range, file.length);
  if (part === 'unsatisfiable')
    return xmlError(416, 'InvalidRange', 'The requested range is not satisfiable');
  const { start, end } = part ?? { start: 0, end: file.length };
  const { framing, etag, endless, gzip, body } = fault;
  const isFramed = framing === 'chunked' || framing === 'close' || endless || gzip === 'right';
  return {
    status: part ? 206 : 200,
    headers: {
      'content-type': contentTypeOf(request),
      ...(part && { 'content-range': `bytes ${start}-${end - 1}/${file.length}` }),
      ...(etag !== 'none' && { etag: etag === 'weak' ? `W/${file.etag}` : file.etag }),
      ...(!isFramed && body === undefined && { 'content-length': String(end - start) }),
      ...(gzip && { 'content-encoding': 'gzip' }),
    },
    pieces: piecesOf(file, { start, end }, fault),
  };
}

interface ByteRange {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Reads a Range as S3 does: one range, which may lack its end, or count from the end of the file. S3 answers
 * several ranges, another unit and a wrong text with the whole file.
 *
 * @returns undefined for the whole file; `unsatisfiable` if the file has none of the bytes
 */
function readRange(range: string, length: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const end = first === '' || last === '' ? length : Math.min(Number(last) + 1, length);
  return start < end ? { start, end } : 'unsatisfiable';
}

function xmlError(status: number, code: string, message: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  };
}

function piecesOf(file: ReportFile, { start, end }: ByteRange, { endless, gzip }: FaultEffect) {
  const pieces = endless ? endlessly(file.read(start, file.length - 2)) : file.read(start, end);
  if (gzip !== 'right') return pieces;
  return Readable.from(pieces, { objectMode: false }).pipe(createGzip({ level: 1 }));
}

/** Adds line breaks forever instead of the end of the JSON array. */
function* endlessly(start: Iterable<Buffer>): Generator<Buffer> {
  yield* start;
  for (;;) yield Buffer.alloc(64 * 1024, '\n');
}
