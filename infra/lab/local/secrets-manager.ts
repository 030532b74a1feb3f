import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { JsonServiceError, startJsonService } from './json-service.ts';

/** The file of a secret, or the text that it has at first. */
export type SecretSource = { readonly file: string } | { readonly text?: string | undefined };

export type Secret = ReturnType<typeof createSecret>;

/**
 * Creates a secret. One of a file keeps AWSCURRENT there, so that a rotated refresh token survives the run.
 * Other programs may change the file at any time: each call reads it again and adds a new text as a version.
 */
export function createSecret(source: SecretSource = {}) {
  const known: { readonly id: string; readonly text: string }[] = [];
  /** Oldest first. The last version is AWSCURRENT. */
  const versions = () => {
    const text = 'file' in source ? readIfThere(source.file) : known.length === 0 ? source.text : undefined;
    if (text !== undefined && text !== known.at(-1)?.text) known.push({ id: randomUUID(), text });
    return known;
  };
  return {
    versions,
    /** Adds a version as AWSCURRENT. A known id changes nothing: the SDK repeats a lost call. */
    put(id: string, text: string) {
      if (versions().some((version) => version.id === id)) return;
      known.push({ id, text });
      if ('file' in source) replaceFile(source.file, text);
    },
  };
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Replaces a file at once, readable by its owner only. A reader sees the old text or the new one. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600); // The umask may have removed permissions of the owner.
  renameSync(draft, file);
}

/** The parameters of all operations. */
interface Parameters {
  readonly SecretId?: string;
  readonly VersionId?: string;
  readonly ClientRequestToken?: string;
  readonly SecretString?: string;
}

/** Starts Secrets Manager on 127.0.0.1, with the operations that an export needs. @param secrets by name */
export function startSecretsManager(secrets: ReadonlyMap<string, Secret>, now = Date.now) {
  const find = ({ SecretId = '' }: Parameters) => {
    const secret = secrets.get(SecretId);
    if (!secret) throw notFound("Secrets Manager can't find the specified secret.");
    return secret;
  };
  const operations = {
    /** The version of this id, or AWSCURRENT. */
    GetSecretValue(parameters: Parameters) {
      const { VersionId } = parameters;
      const versions = find(parameters).versions();
      const version = VersionId === undefined ? versions.at(-1) : versions.find(({ id }) => id === VersionId);
      if (version) return { SecretString: version.text, VersionId: version.id };
      throw notFound(`Secrets Manager can't find the specified secret value ${VersionId ?? 'AWSCURRENT'}`);
    },
    PutSecretValue(parameters: Parameters) {
      const { ClientRequestToken: VersionId = randomUUID(), SecretString = '' } = parameters;
      find(parameters).put(VersionId, SecretString);
      return { VersionId };
    },
  };
  return startJsonService<Parameters>(operations, now);
}

function notFound(message: string): JsonServiceError {
  return new JsonServiceError('ResourceNotFoundException', message);
}
