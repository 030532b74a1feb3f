import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { listenHere } from '../loopback.ts';
import { type Answer, bodyOf, type Call } from './exchange.ts';
import type { Misbehaviour } from './faults/faults.ts';

const MAX_BODY = 1024 * 1024;

/** Listens on 127.0.0.1 only. */
export async function listen(
  port: number,
  listener: RequestListener,
): Promise<{ server: Server; url: string }> {
  const server = createServer(listener);
  return { server, url: `http://127.0.0.1:${await listenHere(server, port)}` };
}

/** @throws RangeError beyond 1 MiB */
export async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > MAX_BODY) throw new RangeError('The body is over 1 MiB.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Headers with their names in lower case, several values joined as HTTP joins them. */
export function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Writes an answer whose body is at hand, and notes it in the journal. */
export async function write(
  response: ServerResponse,
  answer: Answer,
  call: Call,
  fault: Misbehaviour,
): Promise<void> {
  const bytes = Buffer.from(bodyOf(answer));
  call.status = answer.status;
  response.writeHead(answer.status, { 'content-length': bytes.length, ...answer.headers });
  if (fault.trickle === undefined) {
    call.bytes = bytes.length;
    response.end(bytes);
    return;
  }
  response.flushHeaders();
  for (let at = 0; at < bytes.length && !response.destroyed; at += 1) {
    response.write(bytes.subarray(at, at + 1));
    call.bytes = at + 1;
    await wait(fault.trickle);
  }
  response.end();
}

/** Cuts a connection the hard way: the other side reads ECONNRESET. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
