import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from './loopback.ts';

/** An error with its AWS code, which the client gets. */
export class JsonServiceError extends Error {
  override readonly name = 'JsonServiceError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface JsonService extends AsyncDisposable {
  readonly endpoint: string;
  close(): Promise<void>;
}

export type Json = Readonly<Record<string, unknown>>;

/**
 * Starts an AWS service that speaks the AWS JSON protocol 1.1, on 127.0.0.1.
 *
 * @param answer gets the operation and its parameters. Throws JsonServiceError for an error of the client
 * @param now the SDK retries an error if Date differs from its own clock by minutes: it takes the error for
 *   clock skew
 */
export async function startJsonService(
  answer: (operation: string, parameters: Json) => Json,
  now: () => number,
): Promise<JsonService> {
  const server = createServer(async (request, response) => {
    const { status, body } = await respond(request, answer);
    response.writeHead(status, {
      Date: new Date(now()).toUTCString(),
      'content-type': 'application/x-amz-json-1.1',
      'x-amzn-requestid': randomUUID(),
    });
    response.end(JSON.stringify(body));
  });
  const { address, close } = await listenOnLoopback(server, 0);
  return { endpoint: `http://${address}`, close, [Symbol.asyncDispose]: close };
}

async function respond(
  request: IncomingMessage,
  answer: (operation: string, parameters: Json) => Json,
): Promise<{ status: number; body: Json }> {
  try {
    // Such as `secretsmanager.GetSecretValue`.
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    return { status: 200, body: answer(operation, JSON.parse(await text(request))) };
  } catch (error) {
    if (!(error instanceof JsonServiceError))
      return { status: 500, body: { __type: 'InternalFailure', message: String(error) } };
    return { status: 400, body: { __type: error.code, message: error.message } };
  }
}
