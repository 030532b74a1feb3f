import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_KEY } from '../../infra/stack/config/config.ts';
import type { Processes } from './processes.ts';
import type { Sessions } from './sessions.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An earlier commit of the project, whose stack is updated to this checkout. */
export const EARLIER_COMMIT = '450abee8f8b324b89bcbf2e65395b26fc3617ece';

/** The commands' main file, here and in the earlier commit. */
const [MAIN, EARLIER_MAIN] = ['infra/operate/cli/main.ts', 'infra/cli/main.ts'];

/** A copy of the project, with a config of its own. */
export type Project = ReturnType<typeof openProject>;

/** Copies the files of this checkout, also files that are not committed. */
export function copyProject(processes: Processes, sessions: Sessions): Project {
  const folder = join(processes.folder, 'present');
  const files = ['infra', 'functions', 'cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json'];
  for (const file of files) cpSync(join(ROOT, file), join(folder, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return openProject(processes, folder, MAIN, sessions);
}

/** Installs the earlier commit as its users do. @returns undefined if this checkout does not have it */
export async function installEarlier(processes: Processes): Promise<Project | undefined> {
  const { run } = processes;
  const folder = join(processes.folder, 'earlier');
  mkdirSync(folder);
  const archive = join(processes.folder, 'earlier.tar');
  // A worktree would stay in .git if this process was killed.
  const archived = run('git', ['archive', '--output', archive, EARLIER_COMMIT], { cwd: ROOT });
  if (await archived.catch(() => 'failed')) return undefined;
  await run('tar', ['-xf', archive, '-C', folder]);
  await run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
  return openProject(processes, folder, EARLIER_MAIN);
}

interface CommandOptions
  extends Pick<Parameters<Processes['run']>[2] & object, 'stdin' | 'answer' | 'status'> {}

function openProject({ run }: Processes, folder: string, main: string, sessions?: Sessions) {
  const env = { PATH: [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter) };
  const used = new Set<string>();
  const cdk = (args: readonly string[], cwd = folder) => run('cdk', args, { cwd, env });
  /** Runs a command with the policy that it needs, and no other, if this is a copy with sessions. */
  const command = async (args: readonly string[], options: CommandOptions = {}) => {
    const [name = ''] = args;
    const session = await sessions?.forCommand(name);
    used.add(name);
    return run('node', [main, ...args], { cwd: folder, env: { ...env, ...session }, ...options });
  };
  return {
    folder,
    /** The commands that have run. */
    used: used as ReadonlySet<string>,
    cdk,
    command,
    /** The same with --json. @returns the document */
    read: async (args: readonly string[], options: CommandOptions = {}) =>
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
