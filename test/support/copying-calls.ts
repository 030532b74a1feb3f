import type { Dispatcher } from 'undici';
import { type CopyCheckpoint, copyFile } from '../../functions/copy/copy.ts';
import type { WrittenObject } from '../../functions/copy/object-writer.ts';
import { type BufferPool, createBufferPool } from '../../functions/copy/parts.ts';
import { type Copying, createDispatcher, handOn } from './copying.ts';
import { beforeRequests } from './s3.ts';

/** Ends a call of a function early. */
export interface Cut {
  /** Bytes of the file that arrive before. */
  readonly after: number;
  /** `time`: it stops in time and leaves a checkpoint. `kill`: it does nothing more, and S3 hears nothing more of it. */
  readonly by: 'time' | 'kill';
}

export interface Call {
  readonly part: number;
  readonly cut?: Cut | undefined;
  /** Called with the length of each piece of a body. */
  readonly arrived?: (bytes: number) => void;
  readonly pool?: BufferPool;
  /** Default: JSON. */
  readonly format?: string;
}

/** The call's function was killed, so the state machine has no new state. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/** One call of SaveReport. @throws Killed, or what the copy throws */
export async function callCopy(
  { source, destination, s3 }: Copying,
  checkpoint: CopyCheckpoint | undefined,
  { part, cut, arrived, pool = createBufferPool(part), format = 'JSON' }: Call,
): Promise<WrittenObject | CopyCheckpoint> {
  const stop = new AbortController();
  const agent = createDispatcher();
  const client = s3.newClient();
  let killed = false;
  let bytes = 0;
  beforeRequests(client, () => {
    if (killed) throw new Killed();
  });
  const count = (length: number) => {
    arrived?.(length);
    bytes += length;
    if (cut === undefined || bytes < cut.after) return;
    if (cut.by === 'time') stop.abort();
    else if (!killed) {
      killed = true;
      agent.destroy().catch(() => {});
      client.destroy();
    }
  };
  const result = await copyFile({
    source: { ...source, dispatcher: counting(agent, count), timeouts: { idle: 150, headers: 500 } },
    destination: { ...destination, s3: client },
    ...{
      format,
      deadline: stop.signal,
      checkpoint: checkpoint && handOn(checkpoint),
      pool,
      pause: 1,
    },
  }).then(
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

/** Counts the bytes of every body. */
export function counting(agent: Dispatcher, count: (bytes: number) => void): Dispatcher {
  return agent.compose((dispatch) => (options, handler) => {
    const onData = handler.onResponseData?.bind(handler);
    handler.onResponseData = (controller, chunk) => {
      const { length } = chunk; // 0 once the copy has freed the chunk
      onData?.(controller, chunk);
      count(length);
    };
    return dispatch(options, handler);
  });
}
