/** One request as the sandbox read it, and one answer before it is written. */

export type Incoming = {
  method: string;
  /** Without the base path and without the query. */
  path: string;
  query: URLSearchParams;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
};

/** `json` is serialized; `text` goes out as it is. An answer has one of them, or neither for an empty body. */
export type Answer = { status: number; headers: Record<string, string>; json?: unknown; text?: string };

/** One line of the journal: a request as the server saw it, with the time by the sandbox's clock in epoch ms. */
export type Call = {
  at: number;
  host: 'platform' | 'storage';
  endpoint: Endpoint;
  method: string;
  path: string;
  query: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** The status answered, or null for as long as (or for ever if) there was no answer. */
  status: number | null;
  /** The report that was created, asked for or downloaded. */
  reportId?: string;
  /** The id in the error envelope, where one was answered. */
  requestId?: string;
  /** Bytes of the body handed to the socket. */
  bytes: number;
};

export const ENDPOINTS = [
  'token',
  'authorize',
  'create',
  'report',
  'purchases',
  'list',
  'storage',
  'unknown',
] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, json: body };
}

/** A page that loads nothing, cannot be framed, and hands its address, which holds a state, to nobody. */
export function html(status: number, page: string): Answer {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    // No form-action: a browser would apply it to the redirect that answers the form, too.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  };
  return { status, headers, text: page };
}

/** The text of an answer's body. */
export function bodyOf(answer: Answer): string {
  return answer.text ?? (answer.json === undefined ? '' : JSON.stringify(answer.json));
}

/** The entries of a JSON object, or undefined for anything else: arrays, null, text that is not JSON. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
