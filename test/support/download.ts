import { once } from 'node:events';
import { buildConnector } from 'undici';
import {
  type Beginning,
  download,
  type FileHead,
  type Receiver,
  type Source,
} from '../../functions/copy/download.ts';
import { listenTcp } from './listen.ts';

/** What one download asked for, what it was told, and how it ended. */
export interface Downloaded {
  readonly ended?: { readonly bytes: number; readonly fetchedTwice: number };
  readonly error?: unknown;
  /** Each beginning of the file. */
  readonly begins: readonly FileHead[];
  /** What was written since the last of them. */
  readonly text: string;
  /** The requests, without their first line and Host. */
  readonly requests: readonly Readonly<Record<string, string>>[];
}

interface Options {
  readonly source?: Partial<Source>;
  readonly receiver?: Partial<Receiver>;
  readonly from?: Beginning;
  readonly signal?: AbortSignal;
}

/** An answer, after which the connection is closed in an orderly way; `RESET` in its place breaks it. */
export type Answer = string | typeof RESET;
export const RESET = Symbol('reset');

/** Downloads from a host that gives these answers, one a request, byte for byte, and the last one again and again. */
export async function downloadFrom(answers: readonly Answer[], options: Options = {}): Promise<Downloaded> {
  const requests: Record<string, string>[] = [];
  await using host = await listenTcp(async (socket) => {
    const [request] = await once(socket, 'data');
    const lines = String(request).trim().split('\r\n').slice(2);
    const at = requests.push(Object.fromEntries(lines.map((line) => line.split(': ')))) - 1;
    const answer = answers[Math.min(at, answers.length - 1)];
    if (typeof answer === 'string') socket.end(answer);
    else socket.resetAndDestroy();
  });
  const begins: FileHead[] = [];
  let text = '';
  const receiver: Receiver = {
    begin(file) {
      begins.push(file);
      text = '';
    },
    write(chunk) {
      text += chunk;
      return undefined;
    },
    closed: async () => false,
    ...options.receiver,
  };
  const source: Source = {
    url: `${host.url}/report?X-Amz-Signature=canary`,
    connect: (onread) => buildConnector({ allowH2: false, onread }),
    checkUrl: () => {},
    maxBytes: 1_000_000,
    ...options.source,
  };
  const { from, signal } = options;
  const result = await download(source, receiver, { pause: 0, from, signal }).then(
    (ended) => ({ ended }),
    (error: unknown) => ({ error }),
  );
  return { ...result, begins, text, requests };
}

/** An answer's bytes. */
export function answer(status: number, headers: Readonly<Record<string, string>>, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} -\r\n${lines.join('')}\r\n${body}`;
}
