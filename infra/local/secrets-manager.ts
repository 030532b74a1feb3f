import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { closeServer, listenHere } from './loopback.ts';
import { answerTo, type Parameters, SecretsError } from './secrets-operations.ts';
import type { Secret } from './secrets-store.ts';

export type SecretsOperation =
  | 'GetSecretValue'
  | 'PutSecretValue'
  | 'UpdateSecretVersionStage'
  | 'DescribeSecret';

/** An error of Secrets Manager's, or what happens to the connection. */
export type SecretsFaultAnswer =
  | 'ThrottlingException'
  | 'AccessDeniedException'
  | 'DecryptionFailure'
  | 'InternalServiceError'
  | 'InvalidRequestException'
  | 'ResourceNotFoundException'
  | 'reset'
  | 'lost answer';

export interface SecretsFault {
  readonly operation: SecretsOperation;
  /** The name of the secret; any where absent. */
  readonly secret?: string;
  readonly answer: SecretsFaultAnswer;
  /** How often; once where absent. */
  times?: number;
}

/** One call, without any value. */
export interface SecretsCall {
  readonly at: number;
  readonly operation: string;
  readonly secret: string;
  readonly version?: string;
  readonly error?: string;
}

export interface SecretsManager extends AsyncDisposable {
  readonly endpoint: string;
  readonly journal: readonly SecretsCall[];
  /** Faults to come; push one to plant it. */
  readonly faults: SecretsFault[];
  close(): Promise<void>;
}

export interface SecretsManagerOptions {
  /** By name; any other name is not found. */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly port?: number;
  readonly now?: () => number;
}

/** Secrets Manager, as far as an export needs it, on 127.0.0.1: the AWS JSON 1.1 protocol with its error shapes. */
export async function startSecretsManager(options: SecretsManagerOptions): Promise<SecretsManager> {
  const journal: SecretsCall[] = [];
  const faults: SecretsFault[] = [];
  const { now = Date.now } = options;
  const server = createServer((request, response) => {
    // The SDK takes a refusal for a matter of time where its own clock differs by minutes.
    response.setHeader('Date', new Date(now()).toUTCString());
    serve(options, faults, request, response)
      .then((call) => journal.push(call))
      .catch(() => response.destroy()); // the client went away
  });
  const port = await listenHere(server, options.port ?? 0);
  const close = () => closeServer(server);
  return { endpoint: `http://127.0.0.1:${port}`, journal, faults, close, [Symbol.asyncDispose]: close };
}

async function serve(
  { secrets, now = Date.now }: SecretsManagerOptions,
  faults: SecretsFault[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<SecretsCall> {
  const operation = String(request.headers['x-amz-target']).replace('secretsmanager.', '');
  const parameters = JSON.parse(await text(request)) as Parameters;
  const name = nameIn(parameters.SecretId ?? '');
  const call = { at: now(), operation, secret: name };
  try {
    const fault = takeFault(faults, operation, name);
    if (fault === 'reset') return reset(response, call);
    if (fault && fault !== 'lost answer') throw new SecretsError(fault, `${fault} (planted)`);
    const answer = await answerTo(operation, name, parameters, secrets);
    if (fault === 'lost answer') return reset(response, call);
    send(response, 200, answer);
    return { ...call, ...(answer.VersionId !== undefined && { version: String(answer.VersionId) }) };
  } catch (error) {
    const { code, status, message } =
      error instanceof SecretsError ? error : new SecretsError('InternalServiceError', String(error));
    send(response, status, { __type: code, message });
    return { ...call, error: code };
  }
}

function takeFault(faults: SecretsFault[], operation: string, secret: string) {
  const at = faults.findIndex(
    (fault) => fault.operation === operation && (fault.secret === undefined || fault.secret === secret),
  );
  const fault = faults[at];
  if (!fault) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  if (fault.times <= 0) faults.splice(at, 1);
  return fault.answer;
}

function reset(response: ServerResponse, call: SecretsCall): SecretsCall {
  response.socket?.resetAndDestroy();
  return { ...call, error: 'reset' };
}

/** A secret is named by its name or by its ARN. */
function nameIn(secretId: string): string {
  return secretId.startsWith('arn:') ? secretId.split(':').slice(6).join(':') : secretId;
}

function send(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.1',
    'x-amzn-requestid': randomUUID(),
    ...(status >= 400 && { 'x-amzn-errortype': String(body.__type) }),
  });
  response.end(JSON.stringify(body));
}
