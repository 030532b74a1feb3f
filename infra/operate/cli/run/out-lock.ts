import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SCRATCH } from '../../../lab/local/lambda/lambda.ts';
import { UsageError } from '../../place/errors.ts';
import { makeFolder } from '../write-files.ts';

const LOCK = '.lock';
const SQLITE_BUSY = 5;
const USED = 'is used by another run: wait until it ends, or name another folder';

/**
 * Reserves a folder for this command until it is disposed of. A second run is refused, and not only warned:
 * each run has an S3 of its own on the folder, whose conditional writes do not see the other's, so an older
 * report could replace a newer one (P7); and both would write history.json. The lock is on an empty SQLite
 * database: the operating system releases it when the process ends in any way, and other
 * containers on the same disk see it. Removes the scratch files of a run that was killed.
 *
 * @throws UsageError if another run uses the folder, or nobody can write to it
 */
export async function lockFolder(out: string): Promise<AsyncDisposable> {
  try {
    makeFolder(out);
    await access(out, constants.W_OK);
  } catch (error) {
    throw new UsageError([`--out ${out} cannot be written (${(error as NodeJS.ErrnoException).code})`]);
  }
  const database = openLock(out);
  const removeScratch = () => rm(join(out, SCRATCH), { recursive: true, force: true });
  await removeScratch();
  return {
    async [Symbol.asyncDispose]() {
      await removeScratch();
      // The file stays: another command may be about to lock this very file.
      database.close();
    },
  };
}

function openLock(out: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(out, LOCK));
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    const { errcode, message } = error as Error & { readonly errcode?: number };
    const fault = errcode === SQLITE_BUSY ? USED : `cannot be written (${message})`;
    throw new UsageError([`--out ${out} ${fault}`]);
  }
}
