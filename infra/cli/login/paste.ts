import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CommandFailed } from '../usage.ts';
import type { Receiver } from './receive.ts';
import { isRedirectTo } from './redirect.ts';

/**
 * Where a browser on another machine is sent. Nothing listens there: the address bar keeps what it was sent to. Any other
 * port would do as well.
 */
const NOWHERE = 'http://127.0.0.1:47115/callback';

/** Takes the redirect as a line: the address that the browser ended at. */
export function receiveFromPaste(input: Readable, fixed: string = NOWHERE): Receiver {
  // Without an output it is no terminal to readline, which leaves Ctrl-C to the process.
  const lines = createInterface({ input });
  const arrived = firstLine(lines).then((line) => ({ url: parse(line, fixed), answer: async () => {} }));
  arrived.catch(() => undefined); // The input may end before anybody waits for it.
  const close = async () => {
    lines.close();
    input.destroy();
  };
  return { redirectUri: fixed, arrived, [Symbol.asyncDispose]: close };
}

async function firstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) if (line.trim() !== '') return line.trim();
  throw new CommandFailed('No address was pasted.', 'Log in again and paste the whole address.');
}

function parse(line: string, redirectUri: string): URL {
  const url = URL.canParse(line) ? new URL(line) : undefined;
  if (url && isRedirectTo(url, new URL(redirectUri))) return url;
  throw new CommandFailed(
    `What was pasted is not an address that begins with ${redirectUri}.`,
    'Log in again and paste the whole address that the browser ended at.',
  );
}
