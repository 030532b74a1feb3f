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

/** An error with its AWS code. */
export class JsonServiceError extends Error {
  override readonly name = 'JsonServiceError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What happens to the connection. `lost answer` processes the request first. */
export type ConnectionFault = 'reset' | 'lost answer' | 'hang';

/** Returns the answer of the first fault that matches, and removes the fault after its `times` (default 1). */
export function takeFault<F extends { readonly answer: string; times?: number }>(
  faults: F[],
  matches: (fault: F) => boolean,
): F['answer'] | undefined {
  const fault = faults.find(matches);
  if (!fault) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1);
  return fault.answer;
}

/**
 * Answers a call, unless a fault was set: the code of an error, or what happens to the connection.
 *
 * @param internal the service's code for an error of its own, which has the status 500
 * @returns the body that was sent, or the error
 */
export async function answerCall<B extends Readonly<Record<string, unknown>>>(
  { send, reset }: JsonCall,
  fault: string | undefined,
  internal: string,
  answer: () => Promise<B>,
): Promise<{ readonly body?: B; readonly error?: string }> {
  try {
    if (fault === 'hang') return { error: fault };
    if (fault !== undefined && fault !== 'reset' && fault !== 'lost answer')
      throw new JsonServiceError(fault, 'A fault was set.');
    const body = fault === 'reset' ? undefined : await answer();
    if (fault === undefined && body !== undefined) {
      send(200, body);
      return { body };
    }
    reset();
    return { error: 'reset' };
  } catch (error) {
    const { code, message } =
      error instanceof JsonServiceError ? error : new JsonServiceError(internal, String(error));
    send(code === internal ? 500 : 400, { __type: code, message });
    return { error: code };
  }
}
