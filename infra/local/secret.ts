import { randomUUID } from 'node:crypto';
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';

export interface SecretVersion {
  readonly id: string;
  readonly text: string;
  readonly createdAt: number;
}

export interface Secret {
  /** Oldest first. The last version is AWSCURRENT, the one before it AWSPREVIOUS. */
  versions(): Promise<readonly SecretVersion[]>;
  /** Adds a version as AWSCURRENT. Does nothing if the id already has this text. @throws ConflictingVersion */
  put(id: string, text: string): Promise<void>;
  /** Stores a version that is not AWSCURRENT. @throws ConflictingVersion */
  stage(id: string, text: string): Promise<void>;
  /** Makes a staged version AWSCURRENT if `from` still is. @returns false if it is not, or if `id` is not staged */
  promote(id: string, from: string): Promise<boolean>;
}

/** The id belongs to a version with another text. */
export class ConflictingVersion extends Error {
  override readonly name = 'ConflictingVersion';
}

/** Secrets Manager also keeps about 100 versions and removes old ones that have no label. */
const MAX_VERSIONS = 100;

export function createMemorySecret(now: () => number, initial?: string): Secret {
  let versions: SecretVersion[] = [];
  const staged = new Map<string, string>();
  const put = async (id: string, text: string) => {
    const same = versions.find((version) => version.id === id);
    if (same && same.text !== text) throw new ConflictingVersion(id);
    if (!same) versions = [...versions, { id, text, createdAt: now() }].slice(-MAX_VERSIONS);
  };
  const stage = async (id: string, text: string) => {
    if ((staged.get(id) ?? text) !== text) throw new ConflictingVersion(id);
    staged.set(id, text);
  };
  const promote = async (id: string, from: string) => {
    const text = staged.get(id);
    if (text === undefined || versions.at(-1)?.id !== from) return false;
    staged.delete(id);
    await put(id, text);
    return true;
  };
  if (initial !== undefined) void put(randomUUID(), initial);
  return { versions: async () => versions, put, stage, promote };
}

/**
 * Keeps AWSCURRENT in a file, so that a rotated refresh token survives the run. Other programs may change the file at
 * any time: each call reads it again and adds a new text as a new version.
 */
export function createFileSecret(file: string, now: () => number): Secret {
  const memory = createMemorySecret(now);
  const newest = async () => (await memory.versions()).at(-1);
  const readAgain = async () => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text !== undefined && text !== (await newest())?.text) await memory.put(randomUUID(), text);
  };
  const writeIfNewest = async (id: string) => {
    const version = await newest();
    if (version?.id === id) await replaceFile(file, version.text);
  };
  return {
    async versions() {
      await readAgain();
      return memory.versions();
    },
    async put(id, text) {
      await readAgain();
      await memory.put(id, text);
      await writeIfNewest(id);
    },
    stage: memory.stage,
    async promote(id, from) {
      await readAgain();
      const promoted = await memory.promote(id, from);
      if (promoted) await writeIfNewest(id);
      return promoted;
    },
  };
}

/** Replaces a file at once, readable by its owner only. A reader sees the old text or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600); // The umask may have removed permissions of the owner.
  await rename(draft, file);
}
