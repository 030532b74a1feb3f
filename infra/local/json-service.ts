import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { closeServer, listenHere } from './loopback.ts';

export interface JsonServiceOptions {
  /** What an operation's name follows in X-Amz-Target. */
  readonly target: string;
  /** Of the protocol. */
  readonly version: '1.0' | '1.1';
  readonly port?: number;
  readonly now?: (() => number) | undefined;
}

/** One request, waiting for its answer. */
export interface JsonCall {
  readonly operation: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** An error's body has its code as `__type`. */
  send(status: number, body: Readonly<Record<string, unknown>>): void;
  /** Ends the connection without an answer. */
  reset(): void;
}

/** A service of AWS on 127.0.0.1 that speaks the AWS JSON protocol. */
export async function startJsonService(
  { target, version, port = 0, now = Date.now }: JsonServiceOptions,
  answer: (call: JsonCall) => Promise<void>,
): Promise<{ endpoint: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    // The SDK takes a refusal for a matter of time where its own clock differs by minutes.
    response.setHeader('Date', new Date(now()).toUTCString());
    const send: JsonCall['send'] = (status, body) => {
      response.writeHead(status, {
        'content-type': `application/x-amz-json-${version}`,
        'x-amzn-requestid': randomUUID(),
        ...(status >= 400 && { 'x-amzn-errortype': String(body.__type) }),
      });
      response.end(JSON.stringify(body));
    };
    try {
      const operation = String(request.headers['x-amz-target']).replace(`${target}.`, '');
      const parameters = JSON.parse(await text(request));
      const reset = () => void response.socket?.resetAndDestroy();
      await answer({ operation, parameters, send, reset });
    } catch {
      response.destroy(); // the client went away
    }
  });
  const listening = await listenHere(server, port);
  return { endpoint: `http://127.0.0.1:${listening}`, close: () => closeServer(server) };
}
