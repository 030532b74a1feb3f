import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_KEY } from '../../infra/stack/config/config.ts';
import type { Processes } from './processes.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The last commit of release 0.2.0. */
export const RELEASE = 'a62ec4b545888070a7d8a17231d77a63829d3661';

/** A copy of the project, with a config of its own. */
export type Project = ReturnType<typeof openProject>;

/** Copies the files of this checkout, also files that are not committed. */
export function copyProject(processes: Processes): Project {
  const folder = join(processes.folder, 'present');
  const files = ['infra', 'functions', 'cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json'];
  for (const file of files) cpSync(join(ROOT, file), join(folder, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return openProject(processes, folder);
}

/** Installs release 0.2.0 as its users do. @returns undefined if this checkout does not have it */
export async function installRelease(processes: Processes): Promise<Project | undefined> {
  const { run } = processes;
  const folder = join(processes.folder, 'release');
  mkdirSync(folder);
  const archive = join(processes.folder, 'release.tar');
  // A worktree would stay in .git if this process was killed.
  const archived = run('git', ['archive', '--output', archive, RELEASE], { cwd: ROOT });
  if (await archived.catch(() => 'failed')) return undefined;
  await run('tar', ['-xf', archive, '-C', folder]);
  await run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
  return openProject(processes, folder);
}

function openProject({ run }: Processes, folder: string) {
  const env = { PATH: [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter) };
  const cdk = (args: readonly string[], cwd = folder) => run('cdk', args, { cwd, env });
  const command = (args: readonly string[], options: { stdin?: string; status?: number } = {}) =>
    run('node', ['infra/operate/cli/main.ts', ...args], { cwd: folder, env, ...options });
  return {
    cdk,
    command,
    /** The same with --json. @returns the document */
    read: async (args: readonly string[], options: { status?: number } = {}) =>
      JSON.parse(await command([...args, '--json'], options)),
    async deploy(config: object): Promise<void> {
      const file = join(folder, 'cdk.json');
      const settings = JSON.parse(readFileSync(file, 'utf8'));
      settings.context[CONFIG_KEY] = config;
      writeFileSync(file, JSON.stringify(settings));
      await cdk(['synth', '--quiet', '--output', 'cdk.out']);
      await cdk(['deploy', '--app', 'cdk.out', '--require-approval', 'never']);
    },
  };
}
