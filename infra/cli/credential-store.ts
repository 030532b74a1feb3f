import { createHash, randomUUID } from 'node:crypto';
import { open, readFile, realpath, rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { type OAuthCredential, parseCredential } from '../../functions/token/credential.ts';
import { CredentialUnusable } from '../../functions/workflow/errors.ts';
import { replaceFile } from '../local/secret.ts';
import { CommandFailed, createAwsFailure } from './errors.ts';

/** The text of a credential secret, and a version that changes with it. */
export interface StoredText {
  readonly text: string;
  readonly version: string;
}

/** An account's credential secret. Nothing that is read from it may be printed. */
export interface CredentialStore {
  /** For messages. */
  readonly place: string;
  /** @throws CommandFailed if it does not exist or cannot be read */
  read(): Promise<StoredText>;
  /** Replaces the text that was read. @returns false if the secret has changed since */
  replace(read: StoredText, text: string): Promise<boolean>;
}

export interface RefreshToken {
  readonly value: string;
  readonly issuedAt: Date;
}

/** A credential for the authorization code flow, possibly with the refresh token of an earlier login. */
export type LoginCredential = OAuthCredential & { readonly refresh_token_issued_at?: string | undefined };

/** A try fails only if the secret changes between its read and its write. */
const MAX_STORE_TRIES = 10;

// The lock is held while a small file is read and written. 100 × 50 ms = 5 s is enough for many others.
const LOCK_TRIES = 100;
const LOCK_PAUSE_MS = 50;

/** The staging label of a new version until it becomes AWSCURRENT. It stays on the last version that a login stored. */
const PENDING_LABEL = 'LOGIN';

/** @throws CommandFailed naming the fields that are wrong, never a value */
export async function readLoginCredential(store: CredentialStore, account: string): Promise<LoginCredential> {
  return parse((await store.read()).text, store, account);
}

/**
 * Stores a login's refresh token and keeps all other fields. Of two logins at the same time, the token that was issued last
 * stays, in whatever order they store. A login from before this one began is always replaced.
 *
 * @param before the credential when this login began
 * @returns false if another login's newer token stays
 * @throws CommandFailed
 */
export async function storeRefreshToken(
  store: CredentialStore,
  account: string,
  before: LoginCredential,
  { value, issuedAt }: RefreshToken,
): Promise<boolean> {
  const login = { refresh_token: value, refresh_token_issued_at: issuedAt.toISOString() };
  for (let attempt = 1; attempt <= MAX_STORE_TRIES; attempt += 1) {
    const read = await store.read();
    const now = parse(read.text, store, account);
    if (now.client_id !== before.client_id)
      throw new CommandFailed(`The client_id in ${store.place} changed during the login.`, 'Log in again.');
    const isConcurrent = now.refresh_token !== before.refresh_token;
    if (isConcurrent && (now.refresh_token_issued_at ?? '') > login.refresh_token_issued_at) return false;
    if (await store.replace(read, `${JSON.stringify({ ...now, ...login }, null, 2)}\n`)) return true;
  }
  throw new CommandFailed(
    `${store.place} was changed by another process ${MAX_STORE_TRIES} times in a row.`,
    'Log in again.',
  );
}

function parse(text: string, { place }: CredentialStore, account: string): LoginCredential {
  const todo = `Store {"client_id","client_secret"} in ${place}.`;
  try {
    const credential = parseCredential(text, account);
    if (!('api_key' in credential)) return JSON.parse(text) as LoginCredential;
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    const faults = (error.facts.faults as string[]).join('; ');
    throw new CommandFailed(`${place} cannot be used: ${faults}.`, todo);
  }
  throw new CommandFailed(`${place} holds an API key, which cannot log in.`, todo);
}

/** A credential in a file that only its owner may read. Every write replaces the whole file. */
export function createFileCredentialStore(file: string): CredentialStore {
  const read = async (): Promise<StoredText> => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(`${file} cannot be read (${error.code}).`, 'Give another --credential.');
    });
    return { text, version: createHash('sha256').update(text).digest('hex') };
  };
  return {
    place: file,
    read,
    replace: ({ version }, text) =>
      withLock(`${file}.lock`, async () => {
        if ((await read()).version !== version) return false;
        await replaceFile(await realpath(file), text);
        return true;
      }),
  };
}

/** Holds a lock file while `work` runs. Waits while another process holds it. */
async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= LOCK_TRIES; attempt += 1) {
    const held = await open(lock, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return undefined;
      throw new CommandFailed(`${lock} cannot be written (${error.code}).`, 'Make its folder writable.');
    });
    if (held) return work().finally(() => held.close().then(() => rm(lock)));
    await wait(LOCK_PAUSE_MS);
  }
  throw new CommandFailed(
    `${lock} exists: another login is storing its token, or was killed.`,
    'If no login is running, remove the file and log in again.',
  );
}

/**
 * A deployed credential secret. Stores a new version aside, then moves AWSCURRENT to it from the version that was read.
 * Secrets Manager refuses the move if that version is no longer current, so a newer value is never overwritten.
 */
export function createDeployedCredentialStore(
  client: SecretsManagerClient,
  SecretId: string,
): CredentialStore {
  const place = `the secret ${SecretId}`;
  const failure = (error: unknown, action: string, permission: string) =>
    createAwsFailure(error, `${action} ${place}`, `secretsmanager:${permission} and the use of its KMS key`);

  async function read(): Promise<StoredText> {
    try {
      const secret = await client.send(new GetSecretValueCommand({ SecretId }));
      if (secret.SecretString && secret.VersionId)
        return { text: secret.SecretString, version: secret.VersionId };
    } catch (error) {
      if (!(error instanceof ResourceNotFoundException)) throw failure(error, 'read', 'GetSecretValue');
    }
    throw new CommandFailed(
      `${place} does not exist or has no value yet.`,
      'Deploy the stack, and store {"client_id","client_secret"} there.',
    );
  }

  async function makeCurrent(from: string, to: string): Promise<boolean> {
    const VersionStage = 'AWSCURRENT';
    const move = { SecretId, VersionStage, MoveToVersionId: to, RemoveFromVersionId: from };
    try {
      await client.send(new UpdateSecretVersionStageCommand(move));
      return true;
    } catch (error) {
      // If the answer to the first call was lost, the SDK's second call fails although the move succeeded.
      const { version } = await read();
      if (version !== from) return version === to;
      throw failure(error, 'write', 'UpdateSecretVersionStage');
    }
  }

  return {
    place,
    read,
    async replace({ version }, SecretString) {
      const ClientRequestToken = randomUUID();
      const put = { SecretId, SecretString, ClientRequestToken, VersionStages: [PENDING_LABEL] };
      await client.send(new PutSecretValueCommand(put)).catch((error) => {
        throw failure(error, 'write', 'PutSecretValue');
      });
      return makeCurrent(version, ClientRequestToken);
    },
  };
}
