import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Loaded before CurateReport's bundle, this leaves no space for the object of a month: /dev/full takes no byte. */
const files = createRequire(import.meta.url)('node:fs/promises');

const { mkdtempDisposable } = files;
files.mkdtempDisposable = async (...parameters: unknown[]) => {
  const folder = await mkdtempDisposable(...parameters);
  await files.symlink('/dev/full', join(folder.path, 'new.parquet'));
  return folder;
};
