import type { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { type Answered, type Connection, endpoint, TIMEOUTS } from './connection.ts';
import { NoAnswer } from './errors.ts';

// A report record or an error envelope is under 10 kB; more than this is not one.
const ANSWER_CAP = 1024 * 1024;

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash, relative to the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Values that must not come back in an error, even if the platform quotes them. */
  readonly secrets: readonly string[];
}

export interface Head extends Omit<Answered, 'text'> {
  /** What was asked, for messages: `POST https://host/reports`, without query and userinfo. */
  readonly call: string;
}

export interface Answer extends Head {
  readonly text: string;
  /** The body is longer than the cap, and `text` only its beginning. */
  readonly truncated: boolean;
}

export interface OpenAnswer extends Head {
  readonly body: Readable;
  readonly text?: never;
}

/**
 * One request, sent once: nothing is retried (a GET repeated by the transport would come too soon, and a POST would
 * make a second report) and no redirect is followed (it would carry the token to another host).
 * Throws NoAnswer when the connection fails or any of the time-outs runs out.
 *
 * @param cap bytes of the body that are read at most
 */
export async function send(platform: Connection, call: Call, cap: number = ANSWER_CAP): Promise<Answer> {
  const total = new AbortController();
  const timer = setTimeout(() => total.abort(), platform.timeouts?.total ?? TIMEOUTS.total);
  const answering = openAnswer(platform, call, total.signal).then((open) =>
    readAnswer(open, total.signal, cap),
  );
  return tell(platform, call, answering).finally(() => clearTimeout(timer));
}

/**
 * As {@link send}, up to the headers. The body is the caller's to read to the end or to destroy.
 *
 * @param total ends the request and its body; the only bound on a body that keeps coming
 */
export async function openAnswer(platform: Connection, call: Call, total: AbortSignal): Promise<OpenAnswer> {
  const url = endpoint(platform.baseUrl, call.path);
  const name = `${call.method} ${url.origin}${url.pathname}`;
  url.search = new URLSearchParams(call.query).toString();
  const watch = watchSending(platform.dispatcher);
  try {
    const answering = request(url, {
      method: call.method,
      headers: call.headers,
      body: call.body ?? null,
      dispatcher: watch.dispatcher,
      signal: total,
      headersTimeout: platform.timeouts?.headers ?? TIMEOUTS.headers,
      bodyTimeout: platform.timeouts?.idle ?? TIMEOUTS.idle,
    });
    const { statusCode, headers, body } = await orAborted(answering, total);
    // A body that is destroyed early emits an error; where nobody listens for one, that would end the process.
    body.on('error', () => {});
    return { call: name, status: statusCode, headers, body, secrets: call.secrets };
  } catch (error) {
    throw new NoAnswer(name, watch.sent(), codeOf(error, total));
  }
}

/** Tells whoever listens what became of a call; {@link send} does so itself. */
export async function tell<A extends Answered>(
  { heard }: Connection,
  { method, path }: Call,
  answering: Promise<A>,
): Promise<A> {
  const began = performance.now();
  const became = (outcome: Answered | NoAnswer) =>
    heard?.({ method, path, milliseconds: Math.round(performance.now() - began), outcome });
  try {
    const answer = await answering;
    became(answer);
    return answer;
  } catch (error) {
    if (error instanceof NoAnswer) became(error);
    throw error;
  }
}

/** Reads an open answer up to the cap; throws NoAnswer if its body breaks off or `total` is aborted. */
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
    throw new NoAnswer(head.call, true, codeOf(error, total));
  }
  const text = Buffer.concat(chunks).subarray(0, cap).toString();
  return { ...head, text, truncated: length > cap };
}

/**
 * Tells whether the request was written to a connection. An error's code does not: a time-out or a reset can happen
 * before that or after, and only after it may a POST have made a report.
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

/** undici heeds the signal only from the moment that it is connected; the total has to hold before that too. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const done = () => signal.removeEventListener('abort', stop);
    work.then(resolve, reject).then(done, done);
  });
}

/** The code alone: an error of the transport may hold the socket, the headers or the whole URL. */
export function codeOf(error: unknown, total: AbortSignal): string {
  if (total.aborted) return 'TOTAL_TIMEOUT';
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(typeof code === 'string' ? code : (name ?? 'UNKNOWN'));
}
