import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, Call } from './exchange.ts';
import type { FaultEffect } from './faults.ts';
import type { SandboxState } from './state.ts';

/** Adds a request to the journal, and counts it for the faults. */
export function receive(
  { now, journal, reports, faults }: SandboxState,
  request: IncomingMessage,
  describe: (path: string) => Pick<Call, 'endpoint' | 'reportId'>,
) {
  const { pathname: path, search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const { method = '' } = request;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const about = describe(path);
  const call: Call = { ...about, at: now(), method, path, query, headers, body: '', status: null, bytes: 0 };
  journal.push(call);
  const report = reports.get(about.reportId ?? '');
  return { call, report, fault: faults.take(about.endpoint, report?.ordinal) };
}

/** Sends an answer as the fault says, and updates its journal entry. */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  call: Call,
  fault: FaultEffect,
): Promise<void> {
  const { status, headers, json, text = json === undefined ? '' : JSON.stringify(json) } = answer;
  const bytes = Buffer.from(text);
  const { pieces = [bytes] } = answer;
  call.status = status;
  if (fault.framing === 'close') {
    // Node then sends neither Content-Length nor chunks: the body ends when the connection closes.
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, { ...(!answer.pieces && { 'content-length': bytes.length }), ...headers });
  response.flushHeaders();
  const { trickle, reset_after = Infinity, cut_after = Infinity, stall_after = Infinity } = fault;
  const limit = Math.min(reset_after, cut_after, stall_after);
  const source = trickle === undefined ? pieces : byteByByte(pieces, trickle);
  await pipeline(upTo(limit, source, call), response, { end: false });
  // The callback of a write comes when every byte before it has left this process. A reset discards bytes
  // that have not.
  if (call.bytes < limit) response.end();
  else if (limit === reset_after) response.write('', () => reset(response));
  else if (limit === cut_after) response.socket?.end();
}

type BodyPieces = NonNullable<Answer['pieces']>;

/** The pieces up to the limit. Counts them in the journal. */
async function* upTo(limit: number, source: BodyPieces, call: Call): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    const part = piece.subarray(0, limit - call.bytes);
    call.bytes += part.length;
    yield part;
    if (call.bytes >= limit) return;
  }
}

async function* byteByByte(source: BodyPieces, milliseconds: number): AsyncGenerator<Buffer> {
  for await (const piece of source)
    for (const byte of piece) {
      yield Buffer.of(byte);
      await wait(milliseconds);
    }
}

/** Resets the connection: the client reads ECONNRESET. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
