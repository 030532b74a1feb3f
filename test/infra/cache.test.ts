import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cachedFolder } from '../../infra/cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function write(text: string): (draft: string) => Promise<void> {
  return async (draft) => writeFileSync(join(draft, 'made'), text);
}

it('makes a folder once, and shows it only when it is complete', async () => {
  const cache = temporaryDirectory();
  const folder = join(cache, 'a');
  await cachedFolder(
    'a',
    async (draft) => {
      await write('whole')(draft);
      expect(existsSync(folder)).toBe(false);
    },
    cache,
  );
  expect(await cachedFolder('a', write('second'), cache)).toBe(folder);
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('whole');
});

it('keeps the folder that another process made in the meantime', async () => {
  const cache = temporaryDirectory();
  const folder = await cachedFolder(
    'a',
    async (draft) => {
      await cachedFolder('a', write('theirs'), cache);
      await write('ours')(draft);
    },
    cache,
  );
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('theirs');
});

it('removes what was not used for a day when it makes another folder', async () => {
  const cache = temporaryDirectory();
  for (const name of ['unused', 'used again']) {
    const folder = await cachedFolder(name, write(''), cache);
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    utimesSync(folder, old, old);
  }
  await cachedFolder('used again', write(''), cache);
  await cachedFolder('new', write(''), cache);
  expect(readdirSync(cache).sort()).toEqual(['new', 'used again']);
});
