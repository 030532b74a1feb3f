import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { Call } from '../exchange.ts';
import { applyFault } from '../faults/apply-fault.ts';
import type { FaultEffect } from '../faults/fault.ts';
import { reset } from '../http.ts';
import type { ReportFile } from '../reporting/rows.ts';

/** The bytes of a file from start to end (exclusive), with the status and headers of the response. */
export type Download = {
  status: 200 | 206;
  headers: Record<string, string>;
  file: ReportFile;
  start: number;
  end: number;
};

type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Streams a file as fast as the client reads it, with the effects of the fault. */
export async function sendDownload(
  response: ServerResponse,
  download: Download,
  call: Call,
  fault: FaultEffect,
  now: number,
): Promise<void> {
  const { status, headers } = applyFault({ ...download, headers: headersFor(download, fault) }, fault, now);
  call.status = status;
  if (fault.framing === 'close') {
    // Node then sends neither Content-Length nor chunks: the body ends when the connection closes.
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  const { resetAfter = Infinity, cutAfter = Infinity, stallAfter = Infinity } = fault;
  const limit = Math.min(resetAfter, cutAfter, stallAfter);
  await pump(response, piecesOf(download, fault), call, limit);
  if (call.bytes < limit) response.end();
  else if (limit === resetAfter) reset(response);
  else if (limit === cutAfter) response.socket?.end();
}

function headersFor({ headers, start, end }: Download, fault: FaultEffect): Record<string, string> {
  const { etag, ...others } = headers;
  const { framing, endless, gzip } = fault;
  const hasLength = framing !== 'chunked' && framing !== 'close' && !endless && gzip !== 'right';
  return {
    ...others,
    ...(etag === undefined || fault.etag === 'none'
      ? {}
      : { etag: fault.etag === 'weak' ? `W/${etag}` : etag }),
    ...(hasLength ? { 'content-length': String(end - start) } : {}),
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  };
}

function piecesOf({ file, start, end }: Download, { endless, gzip, trickle }: FaultEffect): Pieces {
  const pieces = endless ? endlessly(file.read(start, end - 2)) : file.read(start, end);
  const encoded =
    gzip === 'right' ? Readable.from(pieces, { objectMode: false }).pipe(createGzip({ level: 1 })) : pieces;
  return trickle === undefined ? encoded : byteByByte(encoded, trickle);
}

/** Adds line breaks forever instead of the end of the JSON array. */
function* endlessly(start: Iterable<Buffer>): Generator<Buffer> {
  yield* start;
  for (;;) yield Buffer.alloc(64 * 1024, '\n');
}

async function* byteByByte(source: Pieces, milliseconds: number): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    for (let at = 0; at < piece.length; at += 1) {
      yield piece.subarray(at, at + 1);
      await wait(milliseconds);
    }
  }
}

async function pump(response: ServerResponse, source: Pieces, call: Call, limit: number): Promise<void> {
  for await (const piece of source) {
    const part = piece.subarray(0, limit - call.bytes);
    call.bytes += part.length;
    if (response.destroyed) return;
    if (!response.write(part)) await drained(response);
    if (call.bytes >= limit) return flushed(response);
  }
}

/** Resolves on `close` too: `drain` never comes once the client has disconnected. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(() =>
    settled.abort(),
  );
}

/** Resolves when every byte has left this process. A reset discards bytes that have not. */
async function flushed(response: ServerResponse): Promise<void> {
  if (!response.destroyed) await new Promise((resolve) => response.write('', resolve));
}
