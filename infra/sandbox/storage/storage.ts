import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer, Call } from '../exchange.ts';
import { applyFault } from '../faults/apply-fault.ts';
import type { FaultEffect } from '../faults/fault.ts';
import { recordCall, reset, sendAnswer } from '../http.ts';
import type { Report, SandboxState } from '../state.ts';
import { type Download, sendDownload } from './body.ts';
import { signatureProblem } from './signature.ts';

/** The platform's headers. They must never reach the storage host. */
const PLATFORM_HEADERS = ['authorization', 'x-api-key', 'x-service-revision'];

/** Serves the pre-signed URLs. It behaves like S3 for a GET of one object. */
export async function serveStorage(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path, search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const report = state.reports.get(path.match(/^\/reports\/([^/]+)\.(?:json|csv)$/)?.[1] ?? '');
  const about = { host: 'storage', endpoint: 'storage', path, query, reportId: report?.id } as const;
  const call = recordCall(state, request, response, about);
  const fault = state.faults.take({ endpoint: 'storage', path, ordinal: report?.ordinal });
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
  const problem = signatureProblem(state, call.path, new URLSearchParams(call.query));
  if (problem === 'expired') return xmlError(403);
  // The signature includes the method, so a URL signed for GET does not work for HEAD.
  if (problem || call.method !== 'GET')
    return xmlError(403, 'SignatureDoesNotMatch', 'The signature does not match.');
  if (!report) return xmlError(404);
  const download = readRange(report, call, fault);
  if (fault.body === undefined || !('file' in download)) return download;
  return { status: download.status, headers: download.headers };
}

/**
 * Applies If-Match, then Range (RFC 9110, 13 and 14). A request for several ranges gets the whole object, as on S3.
 */
function readRange({ file, request }: Report, call: Call, fault: FaultEffect): Answer | Download {
  const type = request.format === 'CSV' ? 'text/csv' : 'application/json';
  const headers = { 'content-type': type, 'accept-ranges': 'bytes', etag: file.etag };
  const { 'if-match': ifMatch, range } = call.headers;
  if (ifMatch !== undefined && ifMatch !== '*' && !ifMatch.split(/\s*,\s*/).includes(file.etag)) {
    return xmlError(
      412,
      'PreconditionFailed',
      'At least one of the pre-conditions you specified did not hold',
    );
  }
  const [, from = '', to = ''] = (!fault.ignoreRange && range?.match(/^bytes=(\d*)-(\d*)$/)) || [];
  if (from === '' && to === '') return { status: 200, headers, file, start: 0, end: file.length };
  const start = from === '' ? Math.max(0, file.length - Number(to)) : Number(from);
  const end = from === '' || to === '' ? file.length : Math.min(file.length, Number(to) + 1);
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
