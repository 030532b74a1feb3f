import { type JsonCall, startJsonService } from './json-service.ts';
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
  | 'lost answer'
  | 'hang';

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
  const { port = 0, now } = options;
  const { endpoint, close } = await startJsonService(
    { target: 'secretsmanager', version: '1.1', port, now },
    async (call) => void journal.push(await serve(options, faults, call)),
  );
  return { endpoint, journal, faults, close, [Symbol.asyncDispose]: close };
}

async function serve(
  { secrets, now = Date.now }: SecretsManagerOptions,
  faults: SecretsFault[],
  { operation, parameters, send, reset }: JsonCall,
): Promise<SecretsCall> {
  const { SecretId = '' } = parameters as Parameters;
  const name = nameIn(SecretId);
  const call = { at: now(), operation, secret: name };
  const lose = (): SecretsCall => {
    reset();
    return { ...call, error: 'reset' };
  };
  try {
    const fault = takeFault(faults, operation, name);
    if (fault === 'hang') return { ...call, error: 'hang' };
    if (fault === 'reset') return lose();
    if (fault && fault !== 'lost answer') throw new SecretsError(fault, `${fault} (planted)`);
    const answer = await answerTo(operation, name, parameters, secrets);
    if (fault === 'lost answer') return lose();
    send(200, answer);
    return { ...call, ...(answer.VersionId !== undefined && { version: String(answer.VersionId) }) };
  } catch (error) {
    const { code, status, message } =
      error instanceof SecretsError ? error : new SecretsError('InternalServiceError', String(error));
    send(status, { __type: code, message });
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

/** A secret is named by its name or by its ARN. */
function nameIn(secretId: string): string {
  return secretId.startsWith('arn:') ? secretId.split(':').slice(6).join(':') : secretId;
}
