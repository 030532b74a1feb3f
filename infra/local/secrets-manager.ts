import { randomUUID } from 'node:crypto';
import { type JsonCall, startJsonService } from './json-service.ts';
import { ConflictingVersion, type Secret, type SecretVersion } from './secret.ts';

export type SecretsOperation =
  | 'GetSecretValue'
  | 'PutSecretValue'
  | 'UpdateSecretVersionStage'
  | 'DescribeSecret';

/** An error of Secrets Manager, or what happens to the connection. `lost answer` processes the request first. */
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
  { operation, parameters, send, reset }: JsonCall,
): Promise<SecretsCall> {
  const name = nameOf(String(parameters.SecretId ?? ''));
  const call = { at: now(), operation, secret: name };
  try {
    const fault = takeFault(faults, operation, name);
    if (fault === 'hang') return { ...call, error: fault };
    if (fault === 'reset') {
      reset();
      return { ...call, error: fault };
    }
    if (fault && fault !== 'lost answer') throw new SecretsError(fault, 'A fault was set.');
    const answer = await answerTo(operation, name, parameters, secrets.get(name));
    if (fault === 'lost answer') {
      reset();
      return { ...call, error: 'reset' };
    }
    send(200, answer);
    return { ...call, ...(answer.VersionId !== undefined && { version: answer.VersionId }) };
  } catch (error) {
    const { code, message } =
      error instanceof SecretsError ? error : new SecretsError('InternalServiceError', String(error));
    send(code === 'InternalServiceError' ? 500 : 400, { __type: code, message });
    return { ...call, error: code };
  }
}

function takeFault(faults: SecretsFault[], operation: string, name: string): SecretsFaultAnswer | undefined {
  const index = faults.findIndex((fault) => fault.operation === operation && (fault.secret ?? name) === name);
  const fault = faults[index];
  if (!fault) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  if (fault.times <= 0) faults.splice(index, 1);
  return fault.answer;
}

/** SecretId is a name or an ARN. */
function nameOf(secretId: string): string {
  return secretId.startsWith('arn:') ? secretId.split(':').slice(6).join(':') : secretId;
}

/** An error with its AWS code. */
class SecretsError extends Error {
  override readonly name = 'SecretsError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
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
    throw new SecretsError('InvalidRequestException', `The local run does not support ${operation}.`);
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
    throw new SecretsError('InvalidRequestException', 'SecretString is missing.');
  const current = VersionStages.includes('AWSCURRENT');
  try {
    await (current ? secret.put(id, SecretString) : secret.stage(id, SecretString));
  } catch (error) {
    if (!(error instanceof ConflictingVersion)) throw error;
    throw new SecretsError(
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
    throw new SecretsError('InvalidRequestException', 'The local run can only move AWSCURRENT.');
  if (await secret.promote(to, from)) return;
  const problem = `AWSCURRENT is not attached to ${from}, or there is no ${to}.`;
  throw new SecretsError('InvalidParameterException', problem);
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

function notFound(message: string): SecretsError {
  return new SecretsError('ResourceNotFoundException', message);
}
