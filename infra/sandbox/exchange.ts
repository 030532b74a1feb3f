/** The body is `json`, serialized, `text` as it is, or `pieces`. It is empty if none is set. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  json?: unknown;
  text?: string;
  pieces?: Pieces;
};

export type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

/** A request as one of the two servers received it, and what became of it: an entry of the journal. */
export type Call = {
  /** Epoch ms by the sandbox's clock. */
  at: number;
  endpoint: Endpoint;
  method: string;
  /** Without the query. */
  path: string;
  query: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** null until a response was sent. */
  status: number | null;
  /** The report that was created, polled or downloaded. */
  reportId?: string | undefined;
  /** The request_id of the response. The storage host has none. */
  requestId?: string;
  /** Bytes of the response body written to the socket. */
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

export function html(status: number, text: string): Answer {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, text };
}
