import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** `npm ci` empties it. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'ad-report-export');

let cache: string | undefined;

/** Where the project may not be written to, what is kept lasts as long as the process: nobody else may put code there. */
function openCache(): string {
  if (cache !== undefined) return cache;
  try {
    mkdirSync(CACHE, { recursive: true });
    accessSync(CACHE, constants.W_OK);
    cache = CACHE;
  } catch {
    const directory = mkdtempSync(join(tmpdir(), 'ad-report-export-cache-'));
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    cache = directory;
  }
  return cache;
}

/** The second is npm's own account of what is installed. */
const PACKAGES = ['package-lock.json', 'node_modules/.package-lock.json'];

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

/** Those that were used last; the others may be in use for as long as a run takes. */
const MOST = 20;

/**
 * Where something is kept for as long as nothing changes that it is made of; there is no such directory until it was made.
 *
 * @param sources patterns of files, relative to the project's root; what they hold decides, not when it was written
 * @param settings what else decides
 */
export function placeOf(sources: readonly string[], settings: unknown): string {
  const place = join(openCache(), fingerprint(sources, settings));
  const now = new Date();
  if (existsSync(place)) utimesSync(place, now, now);
  return place;
}

/** Makes what is kept there, whole or not at all. */
export function fill(place: string, make: (directory: string) => void): void {
  removeUnused();
  const draft = mkdtempSync(join(openCache(), 'draft-'));
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
  process.env.NODE_COMPILE_CACHE ??= join(openCache(), 'compiled');
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

function fingerprint(sources: readonly string[], settings: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const file of globSync([...sources, ...PACKAGES], { cwd: ROOT }).sort()) {
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 24);
}

/** Every change of a source leaves directories behind, of 60 MB some of them. */
function removeUnused(): void {
  const used = readdirSync(openCache()).map((name) => {
    const directory = join(openCache(), name);
    return { directory, at: statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Infinity };
  });
  for (const [rank, { directory, at }] of used.sort((one, other) => other.at - one.at).entries()) {
    const kept = rank < MOST ? DAY : HOUR;
    if (at < Date.now() - kept) rmSync(directory, { recursive: true, force: true });
  }
}
