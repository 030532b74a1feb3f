import { createRequire } from 'node:module';

/**
 * Loaded before CurateReport's bundle, this makes the storage of its process full after FULL_AFTER_DAYS days were written. A file
 * that is written under the name of the next day then goes to /dev/full, which has no space.
 */
const files = createRequire(import.meta.url)('node:fs/promises');

let left = Number(process.env.FULL_AFTER_DAYS ?? Infinity);

const { rename } = files;
files.rename = async (from: string, to: string) => {
  await rename(from, to);
  left -= 1;
  if (left === 0) await files.symlink('/dev/full', from);
};
