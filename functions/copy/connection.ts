import type { OnReadOpts, Socket } from 'node:net';
import { Agent, type buildConnector } from 'undici';
import { safeConnector } from '../platform/safe-agent.ts';
import type { HostPolicy } from '../platform/safe-hosts.ts';

// With a fast host, the kernel has this much at once. Reads of 64 KiB cost a sixth more CPU.
const READ_BYTES = 256 * 1024;

/** The largest TLS record. Node decrypts one at a time. */
const RECORD_BYTES = 16 * 1024;

/** The bytes of a response change after its handler has returned. */
export function createFileAgent(policy: Pick<HostPolicy, 'allowLoopback'>): Agent {
  const connect = createFileConnector((onread) => safeConnector(policy, { onread }));
  return new Agent({ allowH2: false, connect });
}

/**
 * Reads each connection into the same two buffers in turn. Node would allocate memory for each read, and the garbage
 * collector would let 60 MB of it pile up.
 *
 * undici keeps pieces of the headers until the last one has come. It refuses more than 16 KiB of names and values, which is
 * at most 64 KiB with their colons and line ends. A buffer is filled again only after the other one has got 128 KiB.
 *
 * A full TLS record waits for the next turn of the event loop, because more usually follow at once. One at a time, they would
 * take a tenth more CPU. A short record, which may be the last one, never waits.
 */
export function createFileConnector(
  createConnector: (onread: OnReadOpts) => buildConnector.connector,
): buildConnector.connector {
  return (target, callback) => {
    let [filling, other] = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)];
    // `filling` holds `at` bytes so far. The socket has the first `pushed` of them.
    let [at, pushed] = [0, 0];
    let push: Socket['push'] | undefined;
    let socket: Socket | undefined;
    const handOver = (): boolean => {
      const waiting = filling.subarray(pushed, at);
      pushed = at;
      return waiting.length === 0 || push?.(waiting) === true;
    };
    const onread = {
      buffer: () => filling.subarray(at),
      callback(bytes: number): boolean {
        if (socket === undefined) throw new Error('Bytes came before the connection was made');
        at += bytes;
        const isFull = at > READ_BYTES / 2;
        if (bytes === RECORD_BYTES && !isFull && socket.readableLength === 0) {
          setImmediate(handOver);
          return true;
        }
        const wantsMore = handOver();
        if (isFull) {
          // If undici has paused, bytes of the other buffer may still be unread, and a new one takes its place.
          const isRead = socket.readableLength <= at;
          [filling, other] = [isRead ? other : Buffer.allocUnsafeSlow(READ_BYTES), filling];
          [at, pushed] = [0, 0];
        }
        return wantsMore;
      },
    };
    createConnector(onread)(target, (...[error, connected]: Parameters<buildConnector.Callback>) => {
      if (error) return callback(error, null);
      socket = connected;
      push = socket.push.bind(socket);
      // Node ends the stream with push(null). The waiting bytes go first.
      socket.push = (end) => {
        handOver();
        return push?.(end) === true;
      };
      callback(null, socket);
    });
  };
}
