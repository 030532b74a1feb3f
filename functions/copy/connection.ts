import type { OnReadOpts, Socket } from 'node:net';
import { Agent, type buildConnector } from 'undici';
import { safeConnector } from '../platform/safe-agent.ts';
import type { HostPolicy } from '../platform/safe-hosts.ts';

// With a fast host, the kernel has this much at once. Reads of 64 KiB cost a sixth more CPU.
const READ_BYTES = 256 * 1024;

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
 */
export function createFileConnector(
  createConnector: (onread: OnReadOpts) => buildConnector.connector,
): buildConnector.connector {
  return (target, callback) => {
    let [filling, other] = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)];
    let at = 0;
    let socket: Socket | undefined;
    const onread = {
      buffer: () => filling.subarray(at),
      callback(bytes: number): boolean {
        if (socket === undefined) throw new Error('Bytes came before the connection was made');
        const wantsMore = socket.push(filling.subarray(at, at + bytes));
        at += bytes;
        if (at > READ_BYTES / 2) {
          // If undici has paused, bytes of the other buffer may still be unread, and a new one takes its place. undici's own
          // sockets never need it: they stop reading before half a buffer waits.
          const isRead = socket.readableLength <= at;
          [filling, other] = [isRead ? other : Buffer.allocUnsafeSlow(READ_BYTES), filling];
          at = 0;
        }
        return wantsMore;
      },
    };
    createConnector(onread)(target, (...[error, connected]: Parameters<buildConnector.Callback>) => {
      socket = connected ?? undefined;
      if (error) callback(error, null);
      else callback(null, connected as Socket);
    });
  };
}
