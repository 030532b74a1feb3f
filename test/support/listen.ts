import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** A server on 127.0.0.1, on a free port. Disposing of it closes every connection too. */
export interface Listening extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
}

/** A request that a server received. */
export interface Seen {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (seen: Seen, response: ServerResponse) => unknown;

/** An HTTP server that passes each request to `answer` when its body is complete. */
export async function listen(answer: Answer): Promise<Listening & { readonly requests: readonly Seen[] }> {
  const requests: Seen[] = [];
  const listener: RequestListener = async (request, response) => {
    // Some tests break the connection on purpose.
    const body = await text(request).catch(() => '');
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    requests.push(seen);
    await answer(seen, response);
  };
  return { ...(await startServer(createHttpServer(listener))), requests };
}

/** A bare TCP server, for answers that are not HTTP or never come. */
export function listenTcp(onSocket: (socket: Socket) => void): Promise<Listening> {
  return startServer(createTcpServer(onSocket));
}

export async function startServer(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return { url: `http://127.0.0.1:${port}`, port, [Symbol.asyncDispose]: close };
}

/** For a server of another process. */
export async function findFreePort(): Promise<number> {
  await using server = await startServer(createTcpServer());
  return server.port;
}

/** Answers with JSON, as the platform does. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
