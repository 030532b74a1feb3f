import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../../functions/workflow/json.ts';
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

/**
 * Starts an AWS service that speaks the AWS JSON protocol 1.1.
 *
 * @param operations by name. One throws JsonServiceError for an error of the client
 */
export function startJsonService<Parameters>(
  operations: Readonly<Record<string, (parameters: Parameters) => JsonObject>>,
  now: () => number,
): Promise<LoopbackServer> {
  return startOnLoopback(
    async (request, response) => {
      // Such as `secretsmanager.GetSecretValue`.
      const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
      const parameters = JSON.parse(await text(request));
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() };
      const answer = (status: number, body: JsonObject) =>
        response.writeHead(status, headers).end(JSON.stringify(body));
      try {
        const run = operations[operation];
        if (!run) throw new JsonServiceError('InvalidRequestException', `There is no ${operation} here.`);
        answer(200, run(parameters));
      } catch (error) {
        if (error instanceof JsonServiceError) answer(400, { __type: error.code, message: error.message });
        else answer(500, { __type: 'InternalFailure', message: String(error) });
      }
    },
    { now },
  );
}
