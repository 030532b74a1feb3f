import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cachedFolder } from '../../infra/cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HOUR = 60 * 60 * 1000;

function makeEntry(cache: string, name: string, hoursAgo: number): string {
  const folder = join(cache, name);
  const used = new Date(Date.now() - hoursAgo * HOUR);
  mkdirSync(folder);
  utimesSync(folder, used, used);
  return folder;
}

function write(text: string): (draft: string) => Promise<void> {
  return async (draft) => writeFileSync(join(draft, 'made'), text);
}

it('makes a folder once', async () => {
  const cache = temporaryDirectory();
  const folder = await cachedFolder('a', write('first'), cache);
  expect(await cachedFolder('a', write('second'), cache)).toBe(folder);
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('first');
});

it('shows a folder only when it is complete', async () => {
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
  expect(readFileSync(join(folder, 'made'), 'utf8')).toBe('whole');
});

it('leaves nothing behind when making it fails', async () => {
  const cache = temporaryDirectory();
  const drafts: string[] = [];
  const fail = async (draft: string) => {
    drafts.push(draft);
    await write('half')(draft);
    throw new Error('no such function');
  };
  await expect(cachedFolder('a', fail, cache)).rejects.toThrow('no such function');
  expect([join(cache, 'a'), ...drafts].map((path) => existsSync(path))).toEqual([false, false]);
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

it('removes an entry that is neither among the last ten used nor used within the hour', async () => {
  const cache = temporaryDirectory();
  const [recent, old, used] = [
    makeEntry(cache, 'recent', 0.9),
    makeEntry(cache, 'old', 1.1),
    makeEntry(cache, 'used', 1.1),
  ];
  for (let n = 0; n < 10; n += 1) makeEntry(cache, `newer-${n}`, 0.5);
  await cachedFolder('used', write(''), cache);
  await cachedFolder('new', write(''), cache);
  expect([recent, old, used].map((path) => existsSync(path))).toEqual([true, false, true]);
});

it('keeps an old entry while there are at most ten', async () => {
  const cache = temporaryDirectory();
  const old = makeEntry(cache, 'old', 100);
  await cachedFolder('new', write(''), cache);
  expect(existsSync(old)).toBe(true);
});
