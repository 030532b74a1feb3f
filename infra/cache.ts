import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `npm ci` empties it. */
const FOLDER = fileURLToPath(new URL('../node_modules/.cache/ad-report-export', import.meta.url));

/** Removes entries that are neither among the last ten used nor used within the last hour. */
const KEPT = 10;
const HOUR = 60 * 60 * 1000;

let created: string | undefined;

/** If the project is read-only, the cache is a private folder that the process removes when it exits. */
function createCache(): string {
  if (created !== undefined) return created;
  try {
    mkdirSync(FOLDER, { recursive: true });
    accessSync(FOLDER, constants.W_OK);
    created = FOLDER;
  } catch {
    const folder = mkdtempSync(join(tmpdir(), 'ad-report-export-cache-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    created = folder;
  }
  return created;
}

/** Caches the code that this process, its threads and its children compile. It halves the time to load the SDK and CDK. */
export function cacheCompiledCode(): void {
  process.env.NODE_COMPILE_CACHE ??= join(createCache(), 'compiled');
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/**
 * Returns the cached folder of this name. If there is none, `make` fills a draft, which becomes visible only when it is complete.
 *
 * @param name must change whenever the content would
 */
export async function cachedFolder(
  name: string,
  make: (draft: string) => Promise<void>,
  cache = createCache(),
): Promise<string> {
  const folder = join(cache, name);
  if (existsSync(folder)) {
    const now = new Date();
    utimesSync(folder, now, now);
    return folder;
  }
  removeUnused(cache);
  const draft = mkdtempSync(join(cache, 'draft-'));
  try {
    await make(draft);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process may have made the same folder at the same time.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

function removeUnused(cache: string): void {
  const entries = readdirSync(cache).map((name) => {
    const path = join(cache, name);
    return { path, used: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity };
  });
  const oldest = entries.sort((a, b) => b.used - a.used).slice(KEPT);
  for (const { path, used } of oldest) {
    if (used < Date.now() - HOUR) rmSync(path, { recursive: true, force: true });
  }
}
