import { randomUUID } from 'node:crypto';
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';

/** One version of a secret; AWSCURRENT is the last one that was put, AWSPREVIOUS the one before. */
interface Version {
  readonly id: string;
  readonly text: string;
  readonly createdAt: number;
}

/** A secret, by version. The newest comes last. */
export interface Secret {
  versions(): Promise<readonly Version[]>;
  /** @throws ConflictingVersion where the id is taken by another value */
  put(id: string, text: string): Promise<void>;
  /** Keeps a version that does not become the newest by itself. @throws ConflictingVersion */
  stage(id: string, text: string): Promise<void>;
  /** Makes a staged version the newest, if `from` still is: false where it is not, or nothing is staged by that id. */
  promote(id: string, from: string): Promise<boolean>;
}

export class ConflictingVersion extends Error {
  override readonly name = 'ConflictingVersion';
}

/** Secrets Manager keeps more than this only for the newest minutes; those without a label go. */
const MAX_VERSIONS = 100;

export function secretInMemory(now: () => number, initial?: string): Secret {
  let versions: Version[] = [];
  const put = async (id: string, text: string) => {
    const same = versions.find((version) => version.id === id);
    if (same && same.text !== text) throw new ConflictingVersion(id);
    if (!same) versions = [...versions, { id, text, createdAt: now() }].slice(-MAX_VERSIONS);
  };
  const staged = new Map<string, string>();
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
 * A secret that is kept in a file, so that a rotated refresh token outlives the run. The file may be changed from
 * outside at any time: it is read anew for every call, and a text that we do not know is a new version.
 */
export function secretInFile(file: string, now: () => number): Secret {
  const memory = secretInMemory(now);
  const sync = async () => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    const newest = (await memory.versions()).at(-1);
    if (text !== undefined && text !== newest?.text) await memory.put(randomUUID(), text);
  };
  return {
    async versions() {
      await sync();
      return memory.versions();
    },
    async put(id, text) {
      await sync();
      await memory.put(id, text);
      if ((await memory.versions()).at(-1)?.id === id) await writeWhole(file, text);
    },
    stage: memory.stage,
    async promote(id, from) {
      await sync();
      const promoted = await memory.promote(id, from);
      const newest = (await memory.versions()).at(-1);
      if (promoted && newest?.id === id) await writeWhole(file, newest.text);
      return promoted;
    },
  };
}

/** A reader sees the old text or the new one, never a part. */
export async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600); // whatever the umask says
  await rename(draft, file);
}
