import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { Call } from '../exchange.ts';
import type { Misbehaviour } from '../faults/faults.ts';
import { reshape } from '../faults/reshape.ts';
import { reset } from '../listen.ts';
import type { ReportFile } from '../reporting/rows.ts';

/** The bytes of a file from start to end (exclusive), with the status and headers that go before them. */
export type Download = {
  status: 200 | 206;
  headers: Record<string, string>;
  file: ReportFile;
  start: number;
  end: number;
};

type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Streams a file, no faster than it is read, and ends it as the fault says. */
export async function sendBody(
  response: ServerResponse,
  download: Download,
  call: Call,
  fault: Misbehaviour,
  now: number,
): Promise<void> {
  const { status, headers } = reshape({ ...download, headers: headersFor(download, fault) }, fault, now);
  call.status = status;
  if (fault.framing === 'close') byClosing(response);
  response.writeHead(status, headers);
  response.flushHeaders();
  const limit = Math.min(
    fault.resetAfter ?? Infinity,
    fault.cutAfter ?? Infinity,
    fault.stallAfter ?? Infinity,
  );
  await pump(response, pieces(download, fault), call, limit, fault.trickle);
  if (call.bytes < limit) response.end();
  else if (limit === fault.resetAfter) reset(response);
  else if (limit === fault.cutAfter) response.socket?.end();
}

function headersFor({ headers, start, end }: Download, fault: Misbehaviour): Record<string, string> {
  const { etag, ...others } = headers;
  const unframed =
    fault.framing === 'chunked' || fault.framing === 'close' || fault.endless || fault.gzip === 'right';
  return {
    ...others,
    ...(etag === undefined || fault.etag === 'none'
      ? {}
      : { etag: fault.etag === 'weak' ? `W/${etag}` : etag }),
    ...(unframed ? {} : { 'content-length': String(end - start) }),
    ...(fault.gzip ? { 'content-encoding': 'gzip' } : {}),
  };
}

/** Neither Content-Length nor chunks: the end of the connection is the end of the body. */
function byClosing(response: ServerResponse): void {
  response.useChunkedEncodingByDefault = false;
  response.shouldKeepAlive = false;
}

function pieces({ file, start, end }: Download, fault: Misbehaviour): Pieces {
  if (fault.endless) return endless(file.read(start, end - 2));
  const honest = file.read(start, end);
  return fault.gzip === 'right'
    ? Readable.from(honest, { objectMode: false }).pipe(createGzip({ level: 1 }))
    : honest;
}

/** The array never closes. */
function* endless(beginning: Iterable<Buffer>): Generator<Buffer> {
  yield* beginning;
  for (;;) yield Buffer.alloc(64 * 1024, '\n');
}

async function pump(
  response: ServerResponse,
  source: Pieces,
  call: Call,
  limit: number,
  trickle: number | undefined,
): Promise<void> {
  for await (const piece of trickle === undefined ? source : byteByByte(source, trickle)) {
    const part = piece.subarray(0, limit - call.bytes);
    call.bytes += part.length;
    if (response.destroyed) return;
    if (!response.write(part)) await drained(response);
    if (call.bytes >= limit) return flushed(response);
  }
}

async function* byteByByte(source: Pieces, milliseconds: number): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    for (let at = 0; at < piece.length; at += 1) {
      yield piece.subarray(at, at + 1);
      await wait(milliseconds);
    }
  }
}

/** A reader that goes away will never drain. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const gone = new AbortController();
  await Promise.race([
    once(response, 'drain', { signal: gone.signal }),
    once(response, 'close', { signal: gone.signal }),
  ]).finally(() => gone.abort());
}

/** All that was written has left this process, so that a reset does not take it back. */
async function flushed(response: ServerResponse): Promise<void> {
  if (!response.destroyed) await new Promise((resolve) => response.write('', resolve));
}
