import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fetchPackage, PackageFault, readLockfile } from './fetch-package.ts';

/** DuckDB's native part. esbuild leaves its import as it is, so a bundle needs it in a node_modules of its own. */
export const BINDINGS = '@duckdb/node-bindings';

/** For Lambda's Linux on arm64, whatever machine synthesizes the stack. */
const LAMBDA_BINDINGS = '@duckdb/node-bindings-linux-arm64';

/** The files that Lambda loads. */
const BINARIES = ['duckdb.node', 'libduckdb.so'];

/** e_machine of an ELF file for arm64, at byte 18. */
const EM_AARCH64 = 183;

/** Lambda's limit of a function's unpacked code: 250 MB. */
const MAX_UNPACKED = 250 * 1024 ** 2;

/**
 * Lets a bundle on this machine load the bindings that npm installed for it. The link is relative, so that a project with a cached
 * bundle can be moved.
 */
export function linkBindings(bundle: string): void {
  const installed = realpathSync(dirname(createRequire(import.meta.url).resolve(`${BINDINGS}/package.json`)));
  const link = join(bundle, 'node_modules', BINDINGS);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(realpathSync(dirname(link)), installed), link, 'dir');
}

/**
 * Downloads the bindings for Lambda at the version of package-lock.json, unless they are cached.
 *
 * @returns a function that copies them into a bundle. It throws PackageFault if Lambda could not load the bundle
 * @throws PackageFault
 */
export async function fetchBindings(): Promise<(bundle: string) => void> {
  const fetched = await Promise.all(
    [BINDINGS, LAMBDA_BINDINGS].map((name) => fetchPackage(readLockfile(name))),
  );
  return (bundle) => {
    for (const [at, name] of [BINDINGS, LAMBDA_BINDINGS].entries())
      cpSync(fetched[at] ?? '', join(bundle, 'node_modules', name), { recursive: true });
    checkBundle(bundle);
  };
}

/** @throws PackageFault unless the bundle has the bindings for Lambda and fits on it */
export function checkBundle(bundle: string): void {
  const folder = join(bundle, 'node_modules', LAMBDA_BINDINGS);
  const faults = BINARIES.flatMap((file) => {
    const machine = machineOf(join(folder, file));
    if (machine === undefined) return [`${LAMBDA_BINDINGS}/${file} is missing or no ELF file`];
    return machine === EM_AARCH64
      ? []
      : [`${LAMBDA_BINDINGS}/${file} is not for arm64 (ELF machine ${machine})`];
  });
  const bytes = sizeOf(bundle);
  if (bytes > MAX_UNPACKED) faults.push(`it has ${bytes} bytes, and Lambda allows ${MAX_UNPACKED}`);
  if (faults.length > 0)
    throw new PackageFault(`The bundle ${bundle} cannot be deployed: ${faults.join('; ')}`);
}

/** The processor that an ELF file is for; undefined if it is none. */
function machineOf(path: string): number | undefined {
  const header = Buffer.alloc(20);
  try {
    const file = openSync(path, 'r');
    readSync(file, header, { length: header.length });
    closeSync(file);
  } catch {
    return undefined;
  }
  return header.toString('latin1', 0, 4) === '\x7fELF' ? header.readUInt16LE(18) : undefined;
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sizes = files.map((file) => statSync(join(folder, file)));
  return sizes.reduce((bytes, each) => bytes + (each.isFile() ? each.size : 0), 0);
}
