import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder } from './cache.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A version of a package, and the checksum of its tarball. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** As in package-lock.json: `sha512-…`. */
  readonly integrity: string;
}

/** A package could not be downloaded, is not the pinned one, or cannot be deployed. */
export class PackageFault extends Error {
  override readonly name = 'PackageFault';
}

/** Reads a package's version and checksum from package-lock.json, also if this machine has no use for it. */
export function readLockfile(name: string): PinnedPackage {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (!version || !integrity) throw new PackageFault(`package-lock.json does not pin ${name}`);
  return { name, version, integrity };
}

/**
 * Downloads a package that npm would not install on this machine, unless it is cached. Runs none of its scripts.
 *
 * @returns the folder of its files
 * @throws PackageFault
 */
export async function fetchPackage(
  { name, version, integrity }: PinnedPackage,
  cache?: string,
): Promise<string> {
  const hash = createHash('sha256').update(`${name}@${version} ${integrity}`).digest('hex');
  const folder = await cachedFolder(
    hash.slice(0, 24),
    async (draft) => {
      const packed = await pack(`${name}@${version}`, draft);
      if (packed.integrity !== integrity)
        throw new PackageFault(`${name}@${version} has the checksum ${packed.integrity}, not ${integrity}`);
      await promisify(execFile)('tar', ['-xzf', join(draft, packed.filename), '-C', draft]);
    },
    cache,
  );
  // Every tarball of npm has this folder.
  return join(folder, 'package');
}

async function pack(spec: string, destination: string): Promise<{ integrity: string; filename: string }> {
  const options = ['--json', '--ignore-scripts', '--prefer-offline', '--pack-destination', destination];
  try {
    const { stdout } = await promisify(execFile)('npm', ['pack', spec, ...options], { cwd: ROOT });
    const [packed] = JSON.parse(stdout);
    return packed;
  } catch (error) {
    const [reason = ''] = String((error as { stderr?: string }).stderr)
      .trim()
      .split('\n');
    throw new PackageFault(`npm could not download ${spec}: ${reason || (error as Error).message}`);
  }
}
