import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from './loopback.ts';

export interface JsonServiceOptions {
  /** The service's prefix in X-Amz-Target: `secretsmanager` in `secretsmanager.GetSecretValue`. */
  readonly target: string;
  /** The version of the AWS JSON protocol. */
  readonly version: '1.0' | '1.1';
  readonly port?: number;
  readonly now?: (() => number) | undefined;
}

/** One request that waits for its response. */
export interface JsonCall {
  readonly operation: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The body of an error has the error code in `__type`. */
  send(status: number, body: Readonly<Record<string, unknown>>): void;
  /** Resets the connection without a response. */
  reset(): void;
}

/** Starts an AWS service that speaks the AWS JSON protocol on 127.0.0.1. */
export async function startJsonService(
  { target, version, port = 0, now = Date.now }: JsonServiceOptions,
  answer: (call: JsonCall) => Promise<void>,
): Promise<{ endpoint: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    // The SDK retries an error if Date differs from its own clock by minutes: it takes the error for clock skew.
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
      response.destroy(); // The client closed the connection, or sent something other than JSON.
    }
  });
  const { address, close } = await listenOnLoopback(server, port);
  return { endpoint: `http://${address}`, close };
}
