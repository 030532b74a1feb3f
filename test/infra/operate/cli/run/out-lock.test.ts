import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { lockFolder } from '../../../../../infra/operate/cli/run/out-lock.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const MODULE = fileURLToPath(new URL('../../../../../infra/operate/cli/run/out-lock.ts', import.meta.url));

const IN_USE = { name: 'UsageError', faults: [expect.stringMatching('is used by another run')] };

it('the lock of a killed process is free at once, and the next one removes its scratch files', async () => {
  const out = temporaryDirectory();
  const lock = `const { lockFolder } = await import(${JSON.stringify(MODULE)});
    const lock = await lockFolder(${JSON.stringify(out)});
    console.log('locked');
    setInterval(() => lock, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', lock], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  await expect(lockFolder(out)).rejects.toMatchObject(IN_USE);
  mkdirSync(join(out, '.scratch/lambda-1'), { recursive: true });
  writeFileSync(join(out, '.scratch/lambda-1/copy'), 'rows');
  child.kill('SIGKILL');
  await once(child, 'close');
  await using _ = await lockFolder(out);
  expect(await readdir(out)).toEqual(['.lock']);
});
