import type { Dispatcher } from 'undici';
import { type Body, createBody } from './body.ts';

interface Request {
  readonly dispatcher: Dispatcher;
  /** Pre-signed. It never appears in a message. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly headersTimeout: number;
}

/** Names in lower case. Repeated headers are joined by a comma. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The body must be read or closed. */
export interface Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/**
 * Sends a GET and waits for the headers.
 *
 * @throws undici's errors; the signal's reason
 */
export function get({ dispatcher, url, ...request }: Request, signal: AbortSignal): Promise<Response> {
  const { origin, pathname, search } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const options: Dispatcher.DispatchOptions = {
    ...{ origin, path: pathname + search, method: 'GET', ...request },
    // A connection that is kept may be dead when a frozen function wakes up.
    reset: true,
    // undici's timeout would count a single byte as progress. `Body.read` asks for more.
    bodyTimeout: 0,
  };
  let stop = reject;
  let body: Body | undefined;
  dispatcher.dispatch(options, {
    onRequestStart(controller) {
      stop = (error) => controller.abort(error);
      if (signal.aborted) stop(signal.reason);
    },
    onResponseStart(controller, status, headers) {
      if (status < 200) return;
      const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]);
      body = createBody(controller, Number(headers['content-length'] ?? Infinity));
      resolve({ status, headers: Object.fromEntries(joined), body });
    },
    onResponseData: (_, chunk) => body?.take(chunk),
    onResponseEnd: () => body?.end(),
    onResponseError(_, error) {
      reject(error);
      body?.end(error);
    },
  });
  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}
