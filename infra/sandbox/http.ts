import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Answer, bodyOf, type Call } from './exchange.ts';
import type { FaultEffect } from './faults/parse-fault.ts';

/** Adds a request to the journal. */
export function recordCall(
  { now, journal }: { now: () => number; journal: Call[] },
  request: IncomingMessage,
  about: Pick<Call, 'endpoint' | 'path' | 'query' | 'reportId'>,
): Call {
  const call: Call = {
    ...about,
    at: now(),
    method: request.method ?? '',
    headers: headersOf(request),
    body: '',
    status: null,
    bytes: 0,
  };
  journal.push(call);
  return call;
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  );
}

/** Sends an answer whose body fits in memory, and updates its journal entry. */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  call: Call,
  { trickle }: FaultEffect,
): Promise<void> {
  const bytes = Buffer.from(bodyOf(answer));
  call.status = answer.status;
  response.writeHead(answer.status, { 'content-length': bytes.length, ...answer.headers });
  response.flushHeaders();
  const pieces = trickle === undefined ? [bytes] : byteByByte([bytes], trickle);
  await pipeline(upTo(Infinity, pieces, call), response);
}

/** The pieces up to the limit. Counts them in the journal. */
export async function* upTo(limit: number, source: Pieces, call: Call): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    const part = piece.subarray(0, limit - call.bytes);
    call.bytes += part.length;
    yield part;
    if (call.bytes >= limit) return;
  }
}

export type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

export async function* byteByByte(source: Pieces, milliseconds: number): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    for (let at = 0; at < piece.length; at += 1) {
      yield piece.subarray(at, at + 1);
      await wait(milliseconds);
    }
  }
}

/** Resets the connection: the client reads ECONNRESET. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
