import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type Json, JsonServiceError, startJsonService } from './json-service.ts';
import type { LoopbackServer } from './loopback.ts';

export interface SecretVersion {
  readonly id: string;
  readonly text: string;
}

export interface Secret {
  /** Oldest first. The last version is AWSCURRENT. */
  versions(): readonly SecretVersion[];
  /** Adds a version as AWSCURRENT. A known id changes nothing: the SDK repeats a lost call. */
  put(id: string, text: string): void;
  /** Stores a version that is not AWSCURRENT. */
  stage(id: string, text: string): void;
  /** Makes a staged version AWSCURRENT if `from` still is. @throws JsonServiceError */
  promote(id: string, from: string): void;
}

export function createMemorySecret(initial?: string): Secret {
  const versions: SecretVersion[] = [];
  const staged = new Map<string, string>();
  const put = (id: string, text: string) => {
    if (!versions.some((version) => version.id === id)) versions.push({ id, text });
  };
  if (initial !== undefined) put(randomUUID(), initial);
  return {
    versions: () => versions,
    put,
    stage: (id, text) => void staged.set(id, text),
    promote(id, from) {
      const text = staged.get(id);
      if (text === undefined || versions.at(-1)?.id !== from)
        throw new JsonServiceError('InvalidParameterException', `AWSCURRENT is not attached to ${from}.`);
      put(id, text);
    },
  };
}

/**
 * Keeps AWSCURRENT in a file, so that a rotated refresh token survives the run. Other programs may change the
 * file at any time: each call reads it again and adds a new text as a new version.
 */
export function createFileSecret(file: string): Secret {
  const { versions, put, stage, promote } = createMemorySecret();
  const read = () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    if (text !== undefined && text !== versions().at(-1)?.text) put(randomUUID(), text);
    return versions();
  };
  const write = () => replaceFile(file, versions().at(-1)?.text ?? '');
  return {
    versions: read,
    put(id, text) {
      put(id, text);
      write();
    },
    stage,
    promote(id, from) {
      read();
      promote(id, from);
      write();
    },
  };
}

/** Replaces a file at once, readable by its owner only. A reader sees the old text or the new one. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600); // The umask may have removed permissions of the owner.
  renameSync(draft, file);
}

export interface SecretsManagerOptions {
  /** By name. */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly now?: () => number;
}

/** Starts Secrets Manager on 127.0.0.1, with the operations that an export needs. */
export function startSecretsManager({
  secrets,
  now = Date.now,
}: SecretsManagerOptions): Promise<LoopbackServer> {
  return startJsonService((operation, parameters: Parameters) => {
    const { SecretId = '' } = parameters;
    const secret = secrets.get(SecretId);
    if (!secret) throw notFound("Secrets Manager can't find the specified secret.");
    return answerTo(operation, secret, parameters);
  }, now);
}

/** The parameters of all operations. */
interface Parameters {
  readonly SecretId?: string;
  readonly VersionId?: string;
  readonly ClientRequestToken?: string;
  readonly SecretString?: string;
  readonly VersionStages?: readonly string[];
  readonly VersionStage?: string;
  readonly MoveToVersionId?: string;
  readonly RemoveFromVersionId?: string;
}

function answerTo(operation: string, secret: Secret, parameters: Parameters): Json {
  if (operation === 'GetSecretValue') return getValue(secret, parameters);
  if (operation === 'PutSecretValue') return putValue(secret, parameters);
  const { VersionStage, MoveToVersionId: to = '', RemoveFromVersionId: from = '' } = parameters;
  if (operation !== 'UpdateSecretVersionStage' || VersionStage !== 'AWSCURRENT')
    throw new JsonServiceError(
      'InvalidRequestException',
      `The local run does not support this ${operation}.`,
    );
  secret.promote(to, from);
  return {};
}

/** Finds the version of this id, or AWSCURRENT. */
function getValue(secret: Secret, { VersionId }: Parameters): Json {
  const versions = secret.versions();
  const version = VersionId === undefined ? versions.at(-1) : versions.find(({ id }) => id === VersionId);
  if (!version)
    throw notFound(`Secrets Manager can't find the specified secret value ${VersionId ?? 'AWSCURRENT'}`);
  return { SecretString: version.text, VersionId: version.id };
}

/** A version that is put with other labels becomes AWSCURRENT only through UpdateSecretVersionStage. */
function putValue(secret: Secret, parameters: Parameters): Json {
  const { ClientRequestToken: id = randomUUID(), SecretString, VersionStages = ['AWSCURRENT'] } = parameters;
  if (SecretString === undefined)
    throw new JsonServiceError('InvalidRequestException', 'SecretString is missing.');
  if (VersionStages.includes('AWSCURRENT')) secret.put(id, SecretString);
  else secret.stage(id, SecretString);
  return { VersionId: id, VersionStages };
}

function notFound(message: string): JsonServiceError {
  return new JsonServiceError('ResourceNotFoundException', message);
}
