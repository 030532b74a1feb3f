import type { AddressInfo, Server } from 'node:net';

export type Listening = {
  /** 127.0.0.1 and the port, such as 127.0.0.1:49152. */
  address: string;
  /** Stops listening and ends every connection, also connections that still wait for a response. */
  close(): Promise<void>;
};

/** Listens on 127.0.0.1 only. @param port 0 for any free port */
export async function listenOnLoopback(
  server: Server & { closeAllConnections(): void },
  port: number,
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
