import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type Answer, type Head, platformError, requestIdOf, unreadable } from './answer.ts';
import { type Authorization, type Connection, endpoint, type Platform, TIMEOUTS } from './connection.ts';
import { NoAnswer } from './errors.ts';

/** Bytes. A report record or an error envelope is under 10 kB. */
const ANSWER_CAP = 1024 * 1024;

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash, relative to the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For log lines, if the call is about one report. */
  readonly reportId?: string;
  /** Secret values that the request carries. No error repeats them, even if the platform echoes them. */
  readonly secrets: readonly string[];
}

interface ApiRequest extends Pick<Call, 'method' | 'path' | 'query' | 'reportId'> {
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A response whose body has not been read. */
export interface OpenAnswer extends Head {
  readonly body: Readable;
  readonly text?: never;
}

/** Adds the headers of every API call (contract 4, 5, 9). */
export function apiCall(
  platform: Platform,
  { header, value }: Authorization,
  { body, ...call }: ApiRequest,
): Call {
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'x-service-revision': platform.revision,
    [header]: value,
  };
  const secrets = [value.slice(value.lastIndexOf(' ') + 1)];
  if (body === undefined) return { ...call, headers, secrets };
  return {
    ...call,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    secrets,
  };
}

/**
 * Sends a call and returns its answer if that has the status of success.
 * Throws PlatformError (not 2xx), UnreadableAnswer (another 2xx, or a body over the cap) or NoAnswer.
 *
 * @param success the status that the contract names
 * @param cap bytes; see {@link send}
 */
export async function callApi(
  platform: Platform,
  call: Call,
  success: number,
  cap?: number,
): Promise<Answer> {
  const answer = await send(platform, call, cap);
  if (answer.status < 200 || answer.status > 299) throw platformError(answer, platform);
  if (answer.status !== success)
    throw unreadable(answer, `the status ${answer.status} instead of ${success}`);
  if (answer.truncated) throw unreadable(answer, 'a body larger than any that the contract shows');
  return answer;
}

/**
 * Sends one request once, and logs it. It retries nothing: a repeated GET would come too soon, and a repeated
 * POST would create a second report. It follows no redirect, which would carry the token to another host.
 * Throws NoAnswer if the connection fails or a timeout ends it.
 *
 * @param cap bytes of the body to read at most
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
  const name = `${call.method} ${url.origin}${url.pathname}`;
  url.search = new URLSearchParams(call.query).toString();
  const watch = watchSending(platform.dispatcher);
  try {
    const answering = watch.dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: call.method,
      headers: call.headers,
      body: call.body ?? null,
      signal: total,
      headersTimeout: platform.timeouts?.headers ?? TIMEOUTS.headers,
      bodyTimeout: platform.timeouts?.idle ?? TIMEOUTS.idle,
    });
    const { statusCode, headers, body } = await orAborted(answering, total);
    // A body that is destroyed early emits an error, and without a listener that would end the process.
    body.on('error', () => {});
    return { call: name, status: statusCode, headers, body, secrets: call.secrets };
  } catch (error) {
    throw new NoAnswer(name, watch.sent(), codeOf(error, total));
  }
}

/** Logs the outcome of a call. {@link send} does so itself. */
export async function logAnswer<A extends Head & { readonly text?: string }>(
  { log }: Connection,
  { method, path, reportId: report_id }: Call,
  answering: Promise<A>,
): Promise<A> {
  const began = performance.now();
  const about = { method, path, ...(report_id !== undefined && { report_id }) };
  const fields = () => ({ ...about, milliseconds: Math.round(performance.now() - began) });
  try {
    const answer = await answering;
    // null also removes the id of the call before.
    log?.keep({ request_id: requestIdOf(answer) ?? null });
    log?.info('the platform answered', { ...fields(), status: answer.status });
    return answer;
  } catch (error) {
    if (error instanceof NoAnswer) {
      log?.keep({ request_id: error.requestId ?? null });
      log?.warn('the platform did not answer', { ...fields(), code: error.code });
    }
    throw error;
  }
}

/** Reads a body up to the cap. Throws NoAnswer if the body breaks off or `total` is aborted. */
export async function readAnswer(open: OpenAnswer, total: AbortSignal, cap = ANSWER_CAP): Promise<Answer> {
  const { body, ...head } = open;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > cap) break;
    }
  } catch (error) {
    throw new NoAnswer(head.call, true, codeOf(error, total), requestIdOf(head));
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

/** undici obeys the signal only once it is connected; this also obeys it before. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const done = () => signal.removeEventListener('abort', stop);
    work.then(resolve, reject).then(done, done);
  });
}

/** The code of a network error. Its other fields may hold the socket, the headers or the whole URL. */
export function codeOf(error: unknown, total?: AbortSignal): string {
  if (total?.aborted) return 'TOTAL_TIMEOUT';
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(typeof code === 'string' ? code : (name ?? 'UNKNOWN'));
}
