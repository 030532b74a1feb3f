import { randomUUID } from 'node:crypto';
import {
  answerCall,
  type ConnectionFault,
  type JsonCall,
  JsonServiceError,
  startJsonService,
  takeFault,
} from './json-service.ts';
import { ConflictingVersion, type Secret, type SecretVersion } from './secret.ts';

export type SecretsOperation =
  | 'GetSecretValue'
  | 'PutSecretValue'
  | 'UpdateSecretVersionStage'
  | 'DescribeSecret';

/** An error of Secrets Manager, or what happens to the connection. */
export type SecretsFaultAnswer =
  | 'ThrottlingException'
  | 'AccessDeniedException'
  | 'DecryptionFailure'
  | 'InternalServiceError'
  | 'InvalidRequestException'
  | 'ResourceNotFoundException'
  | ConnectionFault;

export interface SecretsFault {
  readonly operation: SecretsOperation;
  /** The name of the secret. Default: any. */
  readonly secret?: string;
  readonly answer: SecretsFaultAnswer;
  /** How many requests fail. Default: 1. */
  times?: number;
}

/** One request, without secret values. */
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
  /** Push a fault to make a later request fail. */
  readonly faults: SecretsFault[];
  close(): Promise<void>;
}

export interface SecretsManagerOptions {
  /** By name. */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly port?: number;
  readonly now?: () => number;
}

/** Starts Secrets Manager on 127.0.0.1, with the operations that an export needs (AWS JSON 1.1). */
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
  call: JsonCall,
): Promise<SecretsCall> {
  const { operation, parameters } = call;
  const name = nameOf(String(parameters.SecretId ?? ''));
  const at = now();
  const fault = takeFault(
    faults,
    (each) => each.operation === operation && (each.secret === undefined || each.secret === name),
  );
  const { body, error } = await answerCall(call, fault, 'InternalServiceError', () =>
    answerTo(operation, name, parameters, secrets.get(name)),
  );
  return {
    ...{ at, operation, secret: name },
    ...(body?.VersionId !== undefined && { version: body.VersionId }),
    ...(error !== undefined && { error }),
  };
}

/** SecretId is a name or an ARN. */
function nameOf(secretId: string): string {
  return secretId.startsWith('arn:') ? secretId.split(':').slice(6).join(':') : secretId;
}

/** The parameters of all operations. */
interface Parameters {
  readonly VersionId?: string;
  readonly VersionStage?: string;
  readonly ClientRequestToken?: string;
  readonly SecretString?: string;
  readonly VersionStages?: readonly string[];
  readonly MoveToVersionId?: string;
  readonly RemoveFromVersionId?: string;
}

type Answer = Record<string, unknown> & { VersionId?: string };

async function answerTo(
  operation: string,
  name: string,
  parameters: Parameters,
  secret: Secret | undefined,
): Promise<Answer> {
  if (!secret) throw notFound("Secrets Manager can't find the specified secret.");
  const facts = { ARN: `arn:aws:secretsmanager:local:000000000000:secret:${name}`, Name: name };
  if (operation === 'GetSecretValue') return { ...facts, ...(await getValue(secret, parameters)) };
  if (operation === 'PutSecretValue') return { ...facts, ...(await putValue(secret, parameters)) };
  if (operation === 'DescribeSecret') return { ...facts, ...(await describe(secret)) };
  if (operation !== 'UpdateSecretVersionStage')
    throw new JsonServiceError('InvalidRequestException', `The local run does not support ${operation}.`);
  await moveCurrent(secret, parameters);
  return facts;
}

async function getValue(
  secret: Secret,
  { VersionId, VersionStage = 'AWSCURRENT' }: Parameters,
): Promise<Answer> {
  const versions = await secret.versions();
  const version = versions.find(({ id }) =>
    VersionId === undefined ? stagesOf(versions, id).includes(VersionStage) : id === VersionId,
  );
  if (!version) {
    const wanted = VersionId === undefined ? `staging label: ${VersionStage}` : `VersionId: ${VersionId}`;
    throw notFound(`Secrets Manager can't find the specified secret value for ${wanted}`);
  }
  return {
    SecretString: version.text,
    VersionId: version.id,
    VersionStages: stagesOf(versions, version.id),
    CreatedDate: version.createdAt / 1000,
  };
}

/** A version that is put with other labels becomes AWSCURRENT only through UpdateSecretVersionStage. */
async function putValue(secret: Secret, parameters: Parameters): Promise<Answer> {
  const { ClientRequestToken: id = randomUUID(), SecretString, VersionStages = ['AWSCURRENT'] } = parameters;
  if (SecretString === undefined)
    throw new JsonServiceError('InvalidRequestException', 'SecretString is missing.');
  const current = VersionStages.includes('AWSCURRENT');
  try {
    await (current ? secret.put(id, SecretString) : secret.stage(id, SecretString));
  } catch (error) {
    if (!(error instanceof ConflictingVersion)) throw error;
    throw new JsonServiceError(
      'ResourceExistsException',
      `A different version with the ID ${id} exists already.`,
    );
  }
  return { VersionId: id, VersionStages: current ? stagesOf(await secret.versions(), id) : VersionStages };
}

/** A compare-and-swap: moves AWSCURRENT only if RemoveFromVersionId has it. */
async function moveCurrent(secret: Secret, parameters: Parameters): Promise<void> {
  const { VersionStage, MoveToVersionId: to = '', RemoveFromVersionId: from = '' } = parameters;
  if (VersionStage !== 'AWSCURRENT')
    throw new JsonServiceError('InvalidRequestException', 'The local run can only move AWSCURRENT.');
  if (await secret.promote(to, from)) return;
  const problem = `AWSCURRENT is not attached to ${from}, or there is no ${to}.`;
  throw new JsonServiceError('InvalidParameterException', problem);
}

async function describe(secret: Secret): Promise<Answer> {
  const versions = await secret.versions();
  const labeled = versions.slice(-2).map(({ id }) => [id, stagesOf(versions, id)]);
  return { VersionIdsToStages: Object.fromEntries(labeled) };
}

function stagesOf(versions: readonly SecretVersion[], id: string): string[] {
  if (versions.at(-1)?.id === id) return ['AWSCURRENT'];
  return versions.at(-2)?.id === id ? ['AWSPREVIOUS'] : [];
}

function notFound(message: string): JsonServiceError {
  return new JsonServiceError('ResourceNotFoundException', message);
}
