import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Write } from '../../functions/copy/body.ts';
import {
  type DownloadSource,
  download,
  type FileHead,
  type StoredBytes,
} from '../../functions/copy/download.ts';
import { safeAgent } from '../../functions/platform/safe-agent.ts';
import { listenTcp } from './listen.ts';

interface Options {
  readonly stored?: StoredBytes;
  readonly timeouts?: DownloadSource['timeouts'];
  readonly write?: Write;
  readonly signal?: AbortSignal;
}

/**
 * @param answer the bytes to send before the connection is closed, or a function that sends itself
 * @returns the headers of the request, without Host, and the result
 */
export async function downloadFrom(
  answer: string | ((socket: Socket) => unknown),
  { stored, timeouts, write, signal = new AbortController().signal }: Options = {},
) {
  let headers: Readonly<Record<string, string>> = {};
  await using host = await listenTcp(async (socket) => {
    const [request] = await once(socket, 'data');
    const lines = String(request).trim().split('\r\n').slice(1);
    const { host: _, ...sent } = Object.fromEntries(lines.map((line) => line.split(': ')));
    headers = sent;
    if (typeof answer === 'string') socket.end(answer);
    else answer(socket);
  });
  let file: FileHead | undefined;
  let text = '';
  const begin = (head: FileHead): Write => {
    file = head;
    return (chunk) => {
      text += chunk;
      return write?.(chunk);
    };
  };
  const dispatcher = safeAgent({ allowLoopback: true });
  const url = `${host.url}/report?X-Amz-Signature=canary`;
  const error = await download({ url, dispatcher, timeouts }, stored, begin, signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  await dispatcher.destroy();
  return { error, file, text, headers };
}

/** The bytes of an answer. */
export function answer(status: number, headers: Readonly<Record<string, string>>, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} -\r\n${lines.join('')}\r\n${body}`;
}

/** A body of one chunk and the last chunk. */
export function chunks(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}
