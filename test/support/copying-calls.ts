import type { Socket } from 'node:net';
import { Agent } from 'undici';
import type { Unfinished } from '../../functions/copy/attempt.ts';
import { type Copied, copyToS3 } from '../../functions/copy/copy.ts';
import { copyRange, type Divided, type Range, type VOID } from '../../functions/copy/copy-range.ts';
import type { Source } from '../../functions/copy/download.ts';
import type { Connect } from '../../functions/copy/get.ts';
import { openRing, type Position } from '../../functions/copy/part-writer.ts';
import type { Copying } from './copying.ts';

/** How a call of a function ends before its work is done: after so many bytes of the file. */
export interface Cut {
  readonly after: number;
  /** `time` it stops in time and says how far it came · `kill` nothing of it is heard any more, by S3 either */
  readonly by: 'time' | 'kill';
}

export interface Call {
  readonly part: number;
  readonly streamed?: boolean;
  readonly cut?: Cut | undefined;
  /** Told of each piece of a body. */
  readonly come?: (bytes: number) => void;
  readonly ring?: ReturnType<typeof openRing>;
}

/** The call's function was killed: the state machine knows no more than before. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/** One call of SaveReport, as far as the copy goes. @throws Killed, or what the copy throws */
export function callCopy(
  copying: Copying,
  unfinished: Unfinished | undefined,
  call: Call,
): Promise<Copied | Unfinished> {
  return inCall(copying, call, (ends) =>
    copyToS3({ ...ends, unfinished: unfinished && handOn(unfinished), format: 'JSON' }),
  );
}

/** One call of SaveRange. */
export function callRange(
  copying: Copying,
  divided: Divided,
  range: Range,
  call: Call,
): Promise<Position | typeof VOID> {
  return inCall(copying, call, (ends) => copyRange(divided, handOn(range), { ...ends, format: 'JSON' }));
}

/** What the state machine hands on is JSON. */
export function handOn<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

type Ends = Pick<Parameters<typeof copyRange>[2], 'source' | 'destination' | 'deadline' | 'ring'> & {
  readonly size: () => number;
  readonly streamed: boolean;
  readonly pause: number;
};

async function inCall<T>(
  { source, destination, s3 }: Copying,
  { part, streamed = false, cut, come: told, ring = openRing() }: Call,
  run: (ends: Ends) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const agent = new Agent({ allowH2: false, connectTimeout: 1_000 });
  const client = s3.newClient();
  let killed = false;
  let bytes = 0;
  client.middlewareStack.add((next) => (args) => (killed ? Promise.reject(new Killed()) : next(args)), {
    step: 'finalizeRequest',
  });
  const come = (length: number) => {
    told?.(length);
    bytes += length;
    if (cut === undefined || bytes < cut.after) return;
    if (cut.by === 'time') stop.abort();
    else if (!killed) {
      killed = true;
      from.sever();
      agent.destroy().catch(() => {});
    }
  };
  const from = watched(source, come);
  const ends: Ends = {
    source: from.source,
    destination: { ...destination, s3: client, dispatcher: agent },
    ...{ deadline: stop.signal, ring, size: () => part, streamed, pause: 1 },
  };
  const result = await run(ends).then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );
  client.destroy();
  await agent.destroy();
  if (killed) throw new Killed();
  return result();
}

/** A storage host whose connections tell of each piece that is read from them, the heads of answers included. */
function watched(source: Source, come: (bytes: number) => void) {
  const sockets: Socket[] = [];
  const connect: Connect = ({ buffer, callback }) => {
    const open = source.connect({
      buffer,
      callback(length, piece) {
        come(length);
        return callback(length, piece);
      },
    });
    return (options, opened) =>
      open(options, (...result: Parameters<typeof opened>) => {
        if (result[1]) sockets.push(result[1]);
        opened(...result);
      });
  };
  const sever = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { source: { ...source, connect, timeouts: { idle: 150, headers: 500 } }, sever };
}
