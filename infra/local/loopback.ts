import type { AddressInfo, Server as NetServer } from 'node:net';

/** A server of http or https. */
type Server = NetServer & { closeAllConnections(): void };

/** Listens on 127.0.0.1 only. @param port 0 lets the system choose @returns the port */
export async function listenHere(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Ends every connection as well, also those whose answer hangs. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
