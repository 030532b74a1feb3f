import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** `npm ci` empties it. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'ad-report-export');

/** The second is npm's own account of what is installed. */
const PACKAGES = ['package-lock.json', 'node_modules/.package-lock.json'];

const DAY = 24 * 60 * 60 * 1000;

/**
 * Where something is kept for as long as nothing changes that it is made of; there is no such directory until it was made.
 *
 * @param sources patterns of files, relative to the project's root; what they hold decides, not when it was written
 * @param settings what else decides
 */
export function placeOf(sources: readonly string[], settings: unknown): string {
  const place = join(CACHE, fingerprint(sources, settings));
  const now = new Date();
  if (existsSync(place)) utimesSync(place, now, now);
  return place;
}

/** Makes what is kept there, whole or not at all. */
export function fill(place: string, make: (directory: string) => void): void {
  mkdirSync(CACHE, { recursive: true });
  removeUnused();
  const draft = mkdtempSync(join(CACHE, 'draft-'));
  try {
    make(draft);
    renameSync(draft, place);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process may have been quicker; what it made is the same.
    if (!existsSync(place)) throw error;
  }
}

/** Keeps what this process, its threads and its children compile: to load CDK and the SDKs is half of the work then. */
export function keepCompiled(): void {
  process.env.NODE_COMPILE_CACHE ??= join(CACHE, 'compiled');
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

function fingerprint(sources: readonly string[], settings: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const file of globSync([...sources, ...PACKAGES], { cwd: ROOT }).sort()) {
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 24);
}

/** Every change of a source leaves a directory behind. */
function removeUnused(): void {
  for (const name of readdirSync(CACHE)) {
    const directory = join(CACHE, name);
    const used = statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (used < Date.now() - DAY) rmSync(directory, { recursive: true, force: true });
  }
}
