import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CommandFailed } from '../errors.ts';

/** Waits for the browser's redirect. Only the first one counts. */
export interface Receiver extends AsyncDisposable {
  readonly redirectUri: string;
  readonly redirect: Promise<Redirect>;
}

export interface Redirect {
  readonly url: URL;
  /** Shows a page in the browser. Resolves when the browser has it or has disconnected. */
  answer(page: 'done' | 'failed'): Promise<void>;
}

/** The pages say nothing about the redirect's parameters. */
const PAGES = {
  done: { status: 200, title: 'Logged in', text: 'You can close this page.' },
  failed: { status: 400, title: 'Not logged in', text: 'The terminal says why. You can close this page.' },
  notFound: { status: 404, title: 'Not found', text: 'There is no page at this address.' },
};

const STYLE = `
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif;
         color-scheme: light dark; }
  main { padding: 2rem; text-align: center; } h1 { margin: 0 0 .5rem; font-size: 1.5rem; } p { margin: 0; }`;

/** The page's address contains the code: do not cache it, send it as a referrer, frame it, or load anything. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/**
 * Listens on loopback for a GET of exactly the redirect URI. The Host header must match too, so that a page cannot reach the
 * listener through another name that resolves to this machine.
 *
 * @param registered the registered redirect URI; by default a free port on 127.0.0.1
 * @throws CommandFailed if the port is taken
 */
export async function createLoopbackReceiver(registered?: string): Promise<Receiver> {
  const { promise: redirect, resolve } = Promise.withResolvers<Redirect>();
  let isTaken = false;
  const server = createServer((request, response) => {
    const url = readUrl(request);
    const isExpected = url && request.method === 'GET' && isRedirectTo(url, redirectUri);
    if (!isExpected) return void send(response, 'notFound');
    if (isTaken) return void send(response, 'failed');
    isTaken = true;
    resolve({ url, answer: (page) => send(response, page) });
  });
  const port = await listen(server, registered === undefined ? undefined : new URL(registered));
  const redirectUri = registered ?? `http://127.0.0.1:${port}/callback`;
  return { redirectUri, redirect, [Symbol.asyncDispose]: () => close(server) };
}

/** The redirect URI of a browser on another machine. Nothing listens there, but the address bar shows the redirect. */
const UNREACHABLE = 'http://127.0.0.1:47115/callback';

/** Reads the redirect from a line of `input`: the address in the browser's address bar. */
export function createPasteReceiver(input: Readable, redirectUri: string = UNREACHABLE): Receiver {
  // Without an output, readline does not handle Ctrl-C itself.
  const lines = createInterface({ input });
  const redirect = readFirstLine(lines).then((line) => ({
    url: parsePasted(line, redirectUri),
    answer: async () => {},
  }));
  redirect.catch(() => undefined); // The input may end before `redirect` is awaited.
  const dispose = async () => {
    lines.close();
    input.destroy();
  };
  return { redirectUri, redirect, [Symbol.asyncDispose]: dispose };
}

async function readFirstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) if (line.trim() !== '') return line.trim();
  throw new CommandFailed('No address was pasted.', 'Log in again and paste the whole address.');
}

function parsePasted(line: string, redirectUri: string): URL {
  const url = URL.canParse(line) ? new URL(line) : undefined;
  if (url && isRedirectTo(url, redirectUri)) return url;
  throw new CommandFailed(
    `The pasted text is not an address that begins with ${redirectUri}.`,
    "Log in again and paste the whole address from the browser's address bar.",
  );
}

/** Compares scheme, host, port and path exactly. */
function isRedirectTo(url: URL, redirectUri: string): boolean {
  const { origin, pathname } = new URL(redirectUri);
  return url.origin === origin && url.pathname === pathname;
}

function readUrl({ headers, url = '' }: IncomingMessage): URL | undefined {
  const address = `http://${headers.host ?? ''}${url}`;
  if (!url.startsWith('/') || !URL.canParse(address)) return undefined;
  const parsed = new URL(address);
  // Refuses a path that matches only after its dots are resolved.
  return parsed.pathname === url.split('?', 1)[0] ? parsed : undefined;
}

async function listen(server: Server, registered: URL | undefined): Promise<number> {
  const port = registered === undefined ? 0 : Number(registered.port || 80);
  try {
    await once(server.listen(port, registered?.hostname === '[::1]' ? '::1' : '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailed(
      `Port ${port} of the redirect URI cannot be used (${code}).`,
      'Stop the program that uses it, or register another redirect URI and give it with --redirect-uri.',
    );
  }
}

async function send(response: ServerResponse, page: keyof typeof PAGES): Promise<void> {
  const { status, title, text } = PAGES[page];
  const closed = response.destroyed ? Promise.resolve() : once(response, 'close');
  response.writeHead(status, HEADERS).end(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`);
  await closed;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
