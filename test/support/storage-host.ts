import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { startServer } from './listen.ts';

/** An answer that is faulty or unusual. */
export interface Turn {
  /** Instead of 200 or 206. */
  readonly status?: number;
  /** After this many bytes the connection is reset or closed. */
  readonly after?: number;
  readonly by?: 'reset' | 'close';
  readonly body?: Buffer;
  readonly etag?: string | null;
  /** Serves a range although If-Match names another ETag. */
  readonly ignoresIfMatch?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FileOptions {
  readonly body: Buffer;
  /** The sign of the body's end. Default: Content-Length. */
  readonly framing?: 'length' | 'chunked' | 'close';
  /** Default: a strong ETag. null: none. */
  readonly etag?: string | null;
  /** Default: true. */
  readonly ranges?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes the host serve https. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** The first answers, in order. Later ones are good. */
  readonly turns?: readonly Turn[];
}

export interface StorageHost extends AsyncDisposable {
  /** With a query that no message may show. */
  readonly url: string;
  readonly requests: { readonly range: string | undefined; readonly headers: IncomingMessage['headers'] }[];
}

/** Starts a storage host with one file, which serves ranges as S3 does. */
export async function startStorageHost(file: FileOptions): Promise<StorageHost> {
  const requests: StorageHost['requests'] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const turn = file.turns?.[requests.length] ?? {};
    requests.push({ range: request.headers.range, headers: request.headers });
    answer({ ...file, ...turn, headers: { ...file.headers, ...turn.headers } }, request, response);
  };
  const { certificate } = file;
  const { port, ...server } = await startServer(
    certificate ? createTlsServer(certificate, listener) : createServer(listener),
  );
  const url = `${certificate ? 'https' : 'http'}://127.0.0.1:${port}/report.json?X-Amz-Signature=canary`;
  return { ...server, url, requests };
}

type Plan = FileOptions & Turn;

function answer(plan: Plan, request: IncomingMessage, response: ServerResponse): void {
  const { etag = '"one"', framing = 'length', ranges = true } = plan;
  const match = request.headers['if-match'];
  const [, from, last] = /^bytes=(\d+)-(\d*)$/.exec((ranges && request.headers.range) || '') ?? [];
  const start = Number(from ?? 0);
  const end = Math.min(last ? Number(last) + 1 : Infinity, plan.body.length);
  const part = from !== undefined;
  const changed = match !== undefined && ranges && !plan.ignoresIfMatch && match !== etag;
  const beyond = part && start >= plan.body.length;
  const status = plan.status ?? (changed ? 412 : beyond ? 416 : part ? 206 : 200);
  const body = status === 200 || status === 206 ? plan.body.subarray(start, end) : Buffer.from('<Error/>');
  const head: Record<string, string> = { 'Content-Type': 'application/json', ...plan.headers };
  if (etag !== null) head.ETag = etag;
  if (status === 206) head['Content-Range'] = `bytes ${start}-${end - 1}/${plan.body.length}`;
  if (status === 416) head['Content-Range'] = `bytes */${plan.body.length}`;
  if (framing === 'length') head['Content-Length'] = String(body.length);
  if (framing === 'close') {
    response.removeHeader('Transfer-Encoding');
    response.useChunkedEncodingByDefault = false;
    head.Connection = 'close';
  }
  response.writeHead(status, head);
  if (plan.by === undefined || plan.after === undefined) {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, plan.after), () => breakOff(response, plan.by));
}

function breakOff(response: ServerResponse, how: Turn['by']): void {
  const { socket } = response;
  if (how === 'close') socket?.end();
  // Lets the bytes arrive before the reset.
  if (how === 'reset') setTimeout(() => socket?.resetAndDestroy(), 10);
}
