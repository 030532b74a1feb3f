import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type LoopbackServer, startOnLoopback } from './loopback.ts';

/** An error with its AWS code, which the client gets. */
export class JsonServiceError extends Error {
  override readonly name = 'JsonServiceError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export type Json = Readonly<Record<string, unknown>>;

/**
 * Starts an AWS service that speaks the AWS JSON protocol 1.1.
 *
 * @param answer gets the operation and its parameters. Throws JsonServiceError for an error of the client
 */
export function startJsonService(
  answer: (operation: string, parameters: Json) => Json,
  now: () => number,
): Promise<LoopbackServer> {
  return startOnLoopback(
    async (request, response) => {
      const { status, body } = await respond(request, answer);
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() };
      response.writeHead(status, headers).end(JSON.stringify(body));
    },
    { now },
  );
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
