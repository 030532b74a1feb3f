import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createFileAgent } from '../../functions/copy/connection.ts';
import { download, type FileHead, type Receiver, type Source } from '../../functions/copy/download.ts';
import { listenTcp } from './listen.ts';

/** The requests and the result of one download. */
export interface Downloaded {
  /** The size of the file. */
  readonly ended?: number;
  readonly error?: unknown;
  /** One for each start of the file. */
  readonly begins: readonly FileHead[];
  /** The bytes since the last start. */
  readonly text: string;
  /** The headers of each request, without Host. */
  readonly requests: readonly Readonly<Record<string, string>>[];
}

interface Options {
  readonly source?: Partial<Source>;
  readonly write?: Receiver['write'];
  readonly from?: Parameters<typeof download>[2]['from'];
  readonly signal?: AbortSignal;
}

/** Bytes to send before the connection is closed properly, `RESET` to break it, or a function that sends itself. */
export type Answer = string | typeof RESET | ((socket: Socket) => unknown);
export const RESET = Symbol('reset');

/** Downloads from a raw server that gives one answer to each request, and repeats the last one. */
export async function downloadFrom(answers: readonly Answer[], options: Options = {}): Promise<Downloaded> {
  const requests: Record<string, string>[] = [];
  await using host = await listenTcp(async (socket) => {
    const [request] = await once(socket, 'data');
    const lines = String(request).trim().split('\r\n').slice(1);
    const { host: _, ...headers } = Object.fromEntries(lines.map((line) => line.split(': ')));
    const at = requests.push(headers) - 1;
    const answer = answers[Math.min(at, answers.length - 1)];
    if (typeof answer === 'string') socket.end(answer);
    else if (typeof answer === 'function') answer(socket);
    else socket.resetAndDestroy();
  });
  const begins: FileHead[] = [];
  let text = '';
  const receiver: Receiver = {
    async begin(file) {
      begins.push(file);
      text = '';
    },
    discard() {
      text = '';
    },
    write(chunk) {
      text += chunk;
      return options.write?.(chunk);
    },
  };
  const dispatcher = createFileAgent({ allowLoopback: true });
  const source: Source = {
    url: `${host.url}/report?X-Amz-Signature=canary`,
    ...{ dispatcher, maxBytes: 1_000_000, ...options.source },
  };
  const { from, signal = new AbortController().signal } = options;
  const result = await download(source, receiver, { pause: 0, from, signal }).then(
    (ended) => ({ ended }),
    (error: unknown) => ({ error }),
  );
  await dispatcher.destroy();
  return { ...result, begins, text, requests };
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
