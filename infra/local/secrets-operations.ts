import { randomUUID } from 'node:crypto';
import { ConflictingVersion, type Secret } from './secrets-store.ts';

/** Of every operation, as they come. */
export interface Parameters {
  readonly SecretId?: string;
  readonly VersionId?: string;
  readonly VersionStage?: string;
  readonly ClientRequestToken?: string;
  readonly SecretString?: string;
  readonly VersionStages?: readonly string[];
  readonly MoveToVersionId?: string;
  readonly RemoveFromVersionId?: string;
}

/** An error by its AWS code. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError';
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
    this.status = code === 'InternalServiceError' ? 500 : 400;
  }
}

/** Carries out one operation of Secrets Manager on a secret of this machine. */
export async function answerTo(
  operation: string,
  name: string,
  parameters: Parameters,
  secrets: ReadonlyMap<string, Secret>,
): Promise<Record<string, unknown>> {
  const secret = secrets.get(name);
  if (!secret) throw notFound("Secrets Manager can't find the specified secret.");
  const facts = { ARN: `arn:aws:secretsmanager:local:000000000000:secret:${name}`, Name: name };
  if (operation === 'GetSecretValue') return { ...facts, ...(await getValue(secret, parameters)) };
  if (operation === 'PutSecretValue') return { ...facts, ...(await putValue(secret, parameters)) };
  if (operation === 'UpdateSecretVersionStage') {
    await moveStage(secret, parameters);
    return facts;
  }
  if (operation === 'DescribeSecret') return { ...facts, ...(await describe(secret)) };
  throw new SecretsError('InvalidRequestException', `The local run does not know ${operation}.`);
}

async function getValue(secret: Secret, { VersionId, VersionStage }: Parameters) {
  const versions = await secret.versions();
  const stage = VersionStage ?? 'AWSCURRENT';
  const version =
    VersionId === undefined
      ? versions.at(stage === 'AWSCURRENT' ? -1 : stage === 'AWSPREVIOUS' ? -2 : versions.length)
      : versions.find(({ id }) => id === VersionId);
  if (!version) {
    const what = VersionId === undefined ? `staging label: ${stage}` : `VersionId: ${VersionId}`;
    throw notFound(`Secrets Manager can't find the specified secret value for ${what}`);
  }
  return {
    SecretString: version.text,
    VersionId: version.id,
    VersionStages: stagesOf(versions, version.id),
    CreatedDate: version.createdAt / 1000,
  };
}

/** A version that is put under other labels waits for AWSCURRENT to be moved to it. */
async function putValue(secret: Secret, parameters: Parameters) {
  const { ClientRequestToken = randomUUID(), SecretString, VersionStages = ['AWSCURRENT'] } = parameters;
  if (SecretString === undefined)
    throw new SecretsError('InvalidRequestException', 'SecretString is missing.');
  try {
    const isCurrent = VersionStages.includes('AWSCURRENT');
    await (isCurrent ? secret.put : secret.stage)(ClientRequestToken, SecretString);
    if (!isCurrent) return { VersionId: ClientRequestToken, VersionStages };
  } catch (error) {
    if (!(error instanceof ConflictingVersion)) throw error;
    const happened = `A different version with the ID ${ClientRequestToken} exists already.`;
    throw new SecretsError('ResourceExistsException', happened);
  }
  return {
    VersionId: ClientRequestToken,
    VersionStages: stagesOf(await secret.versions(), ClientRequestToken),
  };
}

/** Secrets Manager's compare-and-swap: AWSCURRENT moves only from the version that is said to have it. */
async function moveStage(secret: Secret, parameters: Parameters): Promise<void> {
  const { VersionStage, MoveToVersionId = '', RemoveFromVersionId = '' } = parameters;
  if (VersionStage !== 'AWSCURRENT') {
    throw new SecretsError('InvalidRequestException', 'The local run moves AWSCURRENT alone.');
  }
  if (await secret.promote(MoveToVersionId, RemoveFromVersionId)) return;
  const happened = `AWSCURRENT is not attached to ${RemoveFromVersionId}, or there is no ${MoveToVersionId}.`;
  throw new SecretsError('InvalidParameterException', happened);
}

async function describe(secret: Secret) {
  const versions = await secret.versions();
  const staged = versions.slice(-2).map(({ id }) => [id, stagesOf(versions, id)]);
  return { VersionIdsToStages: Object.fromEntries(staged) };
}

function stagesOf(versions: readonly { id: string }[], id: string): string[] {
  if (versions.at(-1)?.id === id) return ['AWSCURRENT'];
  return versions.at(-2)?.id === id ? ['AWSPREVIOUS'] : [];
}

function notFound(message: string): SecretsError {
  return new SecretsError('ResourceNotFoundException', message);
}
