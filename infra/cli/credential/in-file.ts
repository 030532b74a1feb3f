import { createHash } from 'node:crypto';
import { open, readFile, realpath, rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { replaceFile } from '../../local/secret.ts';
import { CommandFailed } from '../usage.ts';
import type { CredentialStore, Stored } from './store.ts';

// The lock is held for a read and a write of a small file: 100 × 50 ms = 5 s are many of those.
const LOCK_TRIES = 100;
const LOCK_PAUSE_MS = 50;

/** A credential secret as a file of this machine, replaced as a whole and for its owner alone. */
export function credentialInFile(file: string): CredentialStore {
  const read = async (): Promise<Stored> => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(`${file} cannot be read (${error.code}).`, 'Give another --credential.');
    });
    return { text, version: createHash('sha256').update(text).digest('hex') };
  };
  return {
    place: file,
    read,
    replace: ({ version }, text) =>
      underLock(`${file}.lock`, async () => {
        if ((await read()).version !== version) return false;
        await replaceFile(await realpath(file), text);
        return true;
      }),
  };
}

/** A file that is there as long as the work is done; whoever finds it waits. */
async function underLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= LOCK_TRIES; attempt += 1) {
    const held = await open(lock, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return undefined;
      throw new CommandFailed(`${lock} cannot be written (${error.code}).`, 'Make its folder writable.');
    });
    if (held) return work().finally(() => held.close().then(() => rm(lock)));
    await wait(LOCK_PAUSE_MS);
  }
  throw new CommandFailed(
    `${lock} is there: another login is storing its token, or was killed.`,
    'Remove it and log in again.',
  );
}
