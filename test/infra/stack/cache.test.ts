import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cachedFolder } from '../../../infra/stack/cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

function write(text: string): (draft: string) => void {
  return (draft) => writeFileSync(join(draft, 'made'), text);
}

it('makes a folder once, and shows it only when it is complete', () => {
  const cache = temporaryDirectory();
  const folder = join(cache, 'a');
  cachedFolder(
    'a',
    (draft) => {
      write('whole')(draft);
      expect(existsSync(folder)).toBe(false);
    },
    cache,
  );
  expect(cachedFolder('a', write('second'), cache)).toBe(folder);
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('whole');
});

it('keeps the folder that another process made in the meantime', () => {
  const cache = temporaryDirectory();
  const folder = cachedFolder(
    'a',
    (draft) => {
      cachedFolder('a', write('theirs'), cache);
      write('ours')(draft);
    },
    cache,
  );
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('theirs');
});

it('removes what was not used for a day when it makes another folder', () => {
  const cache = temporaryDirectory();
  for (const name of ['unused', 'used again']) {
    const folder = cachedFolder(name, write(''), cache);
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    utimesSync(folder, old, old);
  }
  cachedFolder('used again', write(''), cache);
  cachedFolder('new', write(''), cache);
  expect(readdirSync(cache).sort()).toEqual(['new', 'used again']);
});
