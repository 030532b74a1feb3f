import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on 127.0.0.1. Disposing of it ends every connection, also connections that still wait. */
export interface LoopbackServer extends AsyncDisposable {
  /** Such as http://127.0.0.1:49152. */
  readonly endpoint: string;
}

/**
 * Starts a server that ends the connection of a request if `serve` fails.
 *
 * @param options `now` is the clock of the Date header: the SDK takes an error for clock skew, and repeats
 *   the call, if Date is minutes off. Default of `port`: any free one
 */
export async function startOnLoopback(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  { now, port = 0 }: { readonly now: () => number; readonly port?: number | undefined },
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    response.setHeader('date', new Date(now()).toUTCString());
    // The client may disconnect while the response is sent.
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
