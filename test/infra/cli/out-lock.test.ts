import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockFolder } from '../../../infra/cli/out-lock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

it('a folder is locked until its run ends, and nothing is left', async () => {
  const out = join(temporaryDirectory(), 'new');
  {
    await using _ = await lockFolder(out);
    await expect(lockFolder(out)).rejects.toMatchObject({
      name: 'UsageError',
      faults: [expect.stringMatching(`used by another run .process ${process.pid}.*remove .*[.]run[.]lock$`)],
    });
  }
  await using _ = await lockFolder(out);
  expect(await readdir(out)).toEqual(['.run.lock']);
});

it.each(['a dead process', 'nobody'])('the lock of %s is taken over', async (owner) => {
  const out = temporaryDirectory();
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  const lock = join(out, '.run.lock');
  await writeFile(lock, owner === 'nobody' ? '' : `${child.pid}\n`);
  await using locked = await lockFolder(out);
  await expect(lockFolder(out)).rejects.toThrow(`process ${process.pid}`);
  await locked[Symbol.asyncDispose]();
  expect(existsSync(lock)).toBe(false);
});
