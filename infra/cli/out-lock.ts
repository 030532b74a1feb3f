import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from './errors.ts';

const LOCK = '.run.lock';

/**
 * Reserves a folder for this command until it is disposed of. A second run is refused, and not only warned: each run has an S3 of its
 * own on the folder, whose conditional writes do not see those of the other, so an older report could replace a newer one (P7);
 * and both would write history.json. Takes over the lock of a process that is dead.
 *
 * @throws UsageError if another run uses the folder, or nobody can write to it
 */
export async function lockFolder(out: string): Promise<AsyncDisposable> {
  const file = join(out, LOCK);
  const isCreated = await mkdir(out, { recursive: true })
    .then(() => create(file))
    .catch(({ code }: NodeJS.ErrnoException) => {
      throw new UsageError([`--out ${out} cannot be written (${code})`]);
    });
  if (!isCreated) {
    const owner = await readOwner(file);
    if (isAlive(owner)) throw new UsageError([describeOwner(out, file, owner)]);
    await rm(file, { force: true });
    if (!(await create(file)))
      throw new UsageError([`--out ${out} is used by another run that began just now`]);
  }
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}

async function readOwner(lock: string): Promise<number> {
  return Number(await readFile(lock, 'utf8').catch(() => ''));
}

function describeOwner(out: string, file: string, owner: number): string {
  return (
    `--out ${out} is used by another run (process ${owner}): wait until it ends, or name another folder. ` +
    `If that process is no run, remove ${file}`
  );
}

/** A link, because it appears together with its content. @returns false if the file exists */
async function create(file: string): Promise<boolean> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${process.pid}\n`);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

function isAlive(pid: number): boolean {
  // 0 would be this process's own group.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
