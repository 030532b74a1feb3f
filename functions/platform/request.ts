import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ExportError } from '../workflow/errors.ts';
import { type Answer, type Call, type Head, isSuccess, requestIdOf } from './answer.ts';
import { type Authorization, type Connection, endpoint, type Platform, TIMEOUTS } from './connection.ts';
import { refused, silent, unreadable } from './failures.ts';

/** Bytes. A report record or an error envelope is under 10 kB. */
const ANSWER_CAP = 1024 * 1024;

interface ApiRequest extends Omit<Call, 'headers' | 'secrets' | 'body' | 'scope'> {
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A response whose body has not been read. */
export interface OpenAnswer extends Head {
  readonly host: string;
  readonly body: Readable;
  readonly text?: never;
}

/** Adds the headers of every API call (contract 4, 5, 9). */
export function apiCall(
  platform: Platform,
  { header, value, scope }: Authorization,
  { body, ...request }: ApiRequest,
): Call {
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'x-service-revision': platform.revision,
    [header]: value,
  };
  const call = { ...request, scope, secrets: [value.slice(value.lastIndexOf(' ') + 1)] };
  if (body === undefined) return { ...call, headers };
  return {
    ...call,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** @throws the error of an answer that has another status, or that is over the cap */
export function requireSuccess(answer: Answer, success: number): Answer {
  if (!isSuccess(answer)) throw refused(answer);
  if (answer.status !== success)
    throw unreadable(answer, `the status ${answer.status} instead of ${success}`);
  if (answer.truncated) throw unreadable(answer, 'a body larger than any that the contract shows');
  return answer;
}

/**
 * Sends one request once, and logs it. It retries nothing: a repeated GET would come too soon, and a repeated
 * POST would create a second report. It follows no redirect, which would carry the token to another host.
 *
 * @param cap bytes of the body to read at most
 * @throws PlatformUnavailable, AnswerLost or DownloadRefused if the connection fails or a timeout ends it
 */
export async function send(platform: Connection, call: Call, cap: number = ANSWER_CAP): Promise<Answer> {
  const total = new AbortController();
  const timer = setTimeout(() => total.abort(), platform.timeouts?.total ?? TIMEOUTS.total);
  const answering = openAnswer(platform, call, total.signal).then((open) =>
    readAnswer(open, total.signal, cap),
  );
  return logAnswer(platform, call, answering).finally(() => clearTimeout(timer));
}

/**
 * Sends a request and returns once the headers are there. The caller must read the body or destroy it.
 *
 * @param total ends the request and its body; nothing else limits a body that keeps coming
 */
export async function openAnswer(platform: Connection, call: Call, total: AbortSignal): Promise<OpenAnswer> {
  const url = endpoint(platform.baseUrl, call.path);
  url.search = new URLSearchParams(call.query).toString();
  const watch = watchSending(platform.dispatcher);
  try {
    const { statusCode, headers, body } = await watch.dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: call.method,
      headers: call.headers,
      body: call.body ?? null,
      signal: total,
      headersTimeout: platform.timeouts?.headers ?? TIMEOUTS.headers,
      bodyTimeout: platform.timeouts?.idle ?? TIMEOUTS.idle,
    });
    // A body that is destroyed early emits an error, and without a listener that would end the process.
    body.on('error', () => {});
    return { call, host: url.host, status: statusCode, headers, body };
  } catch (error) {
    throw silent(call, watch.sent(), { code: codeOf(error, total), host: url.host });
  }
}

/** Logs the outcome of a call. {@link send} does so itself. */
export async function logAnswer<A extends Head & { readonly text?: string }>(
  { log }: Connection,
  { method, path, facts: about }: Call,
  answering: Promise<A>,
): Promise<A> {
  const began = performance.now();
  const fields = () => ({ method, path, ...about, milliseconds: Math.round(performance.now() - began) });
  try {
    const answer = await answering;
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

/** Reads a body up to the cap. @throws like {@link send} if it breaks off or `total` is aborted */
export async function readAnswer(open: OpenAnswer, total: AbortSignal, cap = ANSWER_CAP): Promise<Answer> {
  const { body, host, ...head } = open;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > cap) break;
    }
  } catch (error) {
    throw silent(head.call, true, { request_id: requestIdOf(head), code: codeOf(error, total), host });
  }
  const text = Buffer.concat(chunks).subarray(0, cap).toString();
  return { ...head, text, truncated: length > cap };
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
