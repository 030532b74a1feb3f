import { createHash } from 'node:crypto';
import { glob, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, readConfig } from '../../infra/config.ts';
import type { Synthesized } from '../../infra/local/run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'ad-report-export');

/** Stands in the template that is kept, and is replaced by each test's own platform. */
const PLACEHOLDER = 'https://platform.invalid';

/**
 * The stack with these settings, synthesized once for as long as no source changes: bundling for every test file would
 * take longer than the tests.
 */
export async function synthesized(
  settings: Partial<Config> & Pick<Config, 'base_url' | 'accounts' | 'revision'>,
): Promise<Synthesized> {
  const { base_url, ...rest } = settings;
  const { download_hosts: _, ...configured } = readConfig();
  const config: Config = { ...configured, exports: [], ...rest, base_url: PLACEHOLDER };
  const directory = join(
    CACHE,
    createHash('sha256')
      .update(await fingerprint(config))
      .digest('hex')
      .slice(0, 24),
  );
  const kept = (await readKept(directory)) ?? (await keep(config, directory));
  const template = JSON.parse(JSON.stringify(kept.template).replaceAll(PLACEHOLDER, base_url));
  return { template, codeOf: (id) => join(directory, kept.code[id] ?? '') };
}

interface Kept {
  readonly template: unknown;
  /** The directory of each function's code, within the assembly. */
  readonly code: Readonly<Record<string, string>>;
}

async function readKept(directory: string): Promise<Kept | undefined> {
  const text = await readFile(join(directory, 'kept.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

async function keep(config: Config, directory: string): Promise<Kept> {
  await mkdir(CACHE, { recursive: true });
  await removeOld();
  const draft = await mkdtemp(join(CACHE, 'draft-'));
  const { synthesize } = await import('../../infra/synthesize.ts');
  const { template, codeOf } = synthesize({ config, outdir: draft });
  const functions = Object.entries<{ Type: string }>(template.Resources).filter(
    ([, { Type }]) => Type === 'AWS::Lambda::Function',
  );
  const code = Object.fromEntries(functions.map(([id]) => [id, codeOf(id).slice(draft.length + 1)]));
  const kept: Kept = { template, code };
  await writeFile(join(draft, 'kept.json'), JSON.stringify(kept));
  // Another test file may have been quicker; what it kept is the same.
  await rename(draft, directory).catch(() => rm(draft, { recursive: true, force: true }));
  return kept;
}

/** Every change of a source leaves an assembly behind. */
async function removeOld(): Promise<void> {
  const yesterday = Date.now() - 24 * 60 * 60 * 1000;
  for (const name of await readdir(CACHE)) {
    const directory = join(CACHE, name);
    const changed = await stat(directory).catch(() => undefined);
    if (changed && changed.mtimeMs < yesterday) await rm(directory, { recursive: true, force: true });
  }
}

/** Everything that the synthesized stack is made of. */
async function fingerprint(config: Config): Promise<string> {
  const parts = [JSON.stringify(config)];
  const sources = [
    'functions/**/*.ts',
    'infra/*.ts',
    'infra/constructs/*.ts',
    'cdk.json',
    'package-lock.json',
  ];
  for await (const file of glob(sources, { cwd: ROOT })) {
    const { mtimeMs, size } = await stat(join(ROOT, file));
    parts.push(`${file} ${mtimeMs} ${size}`);
  }
  return parts.sort().join('\n');
}
