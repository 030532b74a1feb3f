import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type Caller, callHeaders, type Headers, type Request } from '../contract.ts';
import { ExportError } from '../workflow/errors.ts';
import { type Call, type Head, isSuccess, type ReceivedAnswer, requestIdOf } from './answer.ts';
import {
  type Authorization,
  type Connection,
  CREATE_TIMEOUTS,
  endpoint,
  type Platform,
  TIMEOUTS,
} from './connection.ts';
import { isGzip } from './content.ts';
import { noAnswerError, refusalError, unreadableAnswer } from './failures.ts';

/** Bytes. A report record or an error envelope is under 10 kB. */
const ANSWER_CAP = 1024 * 1024;

export function callerOf({ revision, advertiserIds = [] }: Platform): Caller {
  return { revision, advertiserIds };
}

/** Adds the headers of every API call. */
export function apiCall(
  platform: Platform,
  { headers: authorization, secret, scope }: Authorization,
  { body, headers, ...request }: Request,
  about: Pick<Call, 'doing' | 'creates' | 'facts'>,
): Call {
  const all = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...inLowerCase(callHeaders(callerOf(platform))),
    ...inLowerCase(authorization),
    ...inLowerCase(headers ?? {}),
  };
  const call = { ...request, ...about, headers: all, revision: platform.revision, scope, secrets: [secret] };
  return body === undefined ? call : { ...call, body: JSON.stringify(body) };
}

function inLowerCase(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** @throws the error of an answer that has none of these statuses, or that is over the cap */
export function requireSuccess(answer: ReceivedAnswer, ...success: readonly number[]): ReceivedAnswer {
  const isExpected = success.includes(answer.status);
  if (!isExpected && !isSuccess(answer)) throw refusalError(answer);
  if (!isExpected)
    throw unreadableAnswer(answer, `the status ${answer.status} instead of ${success.join(' or ')}`);
  if (answer.truncated) throw unreadableAnswer(answer, 'a body larger than any that the contract shows');
  return answer;
}

/**
 * Sends one request once, and logs it. It retries nothing: a repeated GET would come too soon, and a repeated
 * POST would create a second report. It follows no redirect, which would carry the token to another host.
 *
 * @param cap bytes of the body to read at most
 * @throws PlatformUnavailable, AnswerLost or DownloadRefused if the connection fails or a timeout ends it
 */
export async function send(platform: Connection, call: Call, cap = ANSWER_CAP): Promise<ReceivedAnswer> {
  const { log } = platform;
  const { method, path, facts } = call;
  const began = performance.now();
  const fields = () => ({ method, path, ...facts, milliseconds: Math.round(performance.now() - began) });
  try {
    const answer = await exchange(platform, call, cap);
    // null also removes the id of the call before.
    log?.keep({ request_id: requestIdOf(answer) ?? null });
    log?.info('the platform answered', { ...fields(), status: answer.status });
    return answer;
  } catch (error) {
    if (error instanceof ExportError) {
      const { request_id = null, code } = error.facts;
      log?.keep({ request_id });
      log?.warn('the platform did not answer', { ...fields(), code });
    }
    throw error;
  }
}

async function exchange(platform: Connection, call: Call, cap: number): Promise<ReceivedAnswer> {
  const url = endpoint(call.base ?? platform.baseUrl, call.path);
  url.search = new URLSearchParams(call.query).toString();
  const timeouts = { ...TIMEOUTS, ...(call.creates && CREATE_TIMEOUTS), ...platform.timeouts };
  const total = AbortSignal.timeout(timeouts.total);
  const watch = watchSending(platform.dispatcher);
  let head: Head | undefined;
  try {
    const { statusCode, headers, body } = await watch.dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: call.method,
      headers: call.headers,
      body: call.body ?? null,
      signal: total,
      headersTimeout: timeouts.headers,
      bodyTimeout: timeouts.idle,
    });
    head = { call, status: statusCode, headers };
    // A body that is destroyed early emits an error, and without a listener that would end the process.
    body.on('error', () => {});
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > cap) break;
    }
    const received = Buffer.concat(chunks).subarray(0, cap);
    const { bytes, isLonger } = await unzip(received, cap);
    const text = bytes.toString().replace(/^\ufeff/, '');
    return { ...head, bytes, text, truncated: length > cap || isLonger };
  } catch (error) {
    const request_id = head && requestIdOf(head);
    throw noAnswerError(call, watch.sent(), { request_id, code: codeOf(error, total), host: url.host });
  }
}

/**
 * Decodes gzip, which a gateway may apply to an answer although no call accepts it. Other bytes, and gzip
 * that is cut, stay as they are.
 */
async function unzip(bytes: Buffer, cap: number): Promise<{ bytes: Buffer; isLonger: boolean }> {
  if (!isGzip(bytes)) return { bytes, isLonger: false };
  try {
    return { bytes: await promisify(gunzip)(bytes, { maxOutputLength: cap }), isLonger: false };
  } catch (error) {
    return { bytes, isLonger: codeOf(error) === 'ERR_BUFFER_TOO_LARGE' };
  }
}

/**
 * Tells whether the request was written to a connection. The error's code does not tell: a timeout or a reset
 * can happen before or after that, and a POST may have created a report only after it.
 */
function watchSending(dispatcher: Dispatcher): { dispatcher: Dispatcher; sent: () => boolean } {
  let sent = false;
  const watch: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      sent = true;
      start?.(controller, context);
    };
    return dispatch(options, handler);
  };
  return { dispatcher: dispatcher.compose([watch]), sent: () => sent };
}

/** The code of a network error. Its other fields may hold the socket, the headers or the whole URL. */
export function codeOf(error: unknown, total?: AbortSignal): string {
  if (total?.aborted) return 'TOTAL_TIMEOUT';
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(typeof code === 'string' ? code : (name ?? 'UNKNOWN'));
}
