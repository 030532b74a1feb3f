import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandFailed } from '../usage.ts';
import { type Page, render } from './page.ts';
import { isRedirectTo } from './redirect.ts';

/** One redirect, and how the browser that brought it is answered. */
export interface Arrival {
  readonly url: URL;
  answer(page: Page): Promise<void>;
}

/** Where the redirect is expected. The first one that comes is the only one. */
export interface Receiver extends AsyncDisposable {
  readonly redirectUri: string;
  readonly arrived: Promise<Arrival>;
}

const PATH = '/callback';

/**
 * Listens on loopback for the redirect: a GET of exactly the redirect URI, its host in the Host header included, so that
 * a page of another name that resolves to this machine is not heard.
 *
 * @param fixed the registered redirect URI; without one, a path on 127.0.0.1 and a port that the system chooses
 * @throws CommandFailed where the port is taken
 */
export async function receiveOnLoopback(fixed?: string): Promise<Receiver> {
  const { promise: arrived, resolve } = Promise.withResolvers<Arrival>();
  let taken = false;
  const server = createServer((request, response) => {
    const url = addressOf(request);
    const expected = url && request.method === 'GET' && isRedirectTo(url, new URL(redirectUri));
    if (!expected) return void send(response, 'elsewhere');
    if (taken) return void send(response, 'failed');
    taken = true;
    resolve({ url, answer: (page) => send(response, page) });
  });
  const port = await listen(server, fixed === undefined ? undefined : new URL(fixed));
  const redirectUri = fixed ?? `http://127.0.0.1:${port}${PATH}`;
  return { redirectUri, arrived, [Symbol.asyncDispose]: () => close(server) };
}

function addressOf({ headers, url = '' }: IncomingMessage): URL | undefined {
  const address = `http://${headers.host ?? ''}${url}`;
  if (!url.startsWith('/') || !URL.canParse(address)) return undefined;
  const parsed = new URL(address);
  // A path that only becomes the right one when its dots are resolved is another path.
  return parsed.pathname === url.split('?', 1)[0] ? parsed : undefined;
}

async function listen(server: Server, fixed: URL | undefined): Promise<number> {
  const port = fixed === undefined ? 0 : Number(fixed.port || 80);
  try {
    await once(server.listen(port, fixed?.hostname === '[::1]' ? '::1' : '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailed(
      `Port ${port}, where the redirect is to arrive, cannot be listened on (${code}).`,
      'End what uses it, or register and give another --redirect-uri.',
    );
  }
}

/** Resolves when the browser has it, or is gone. */
async function send(response: ServerResponse, page: Page): Promise<void> {
  const { status, headers, body } = render(page);
  const closed = response.destroyed ? Promise.resolve() : once(response, 'close');
  response.writeHead(status, headers).end(body);
  await closed;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
