import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CONFIG_KEY } from '../../infra/stack/config/config.ts';
import { readContext } from '../../infra/stack/config/read-config.ts';
import { type CommandEnd, runCommand } from './cli.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of the project, whose config a test may change. */
export interface Checkout {
  /** Runs a command with this config. A text is the whole cdk.json. */
  run(config: object | string, args: readonly string[]): Promise<CommandEnd>;
}

/** The config of this project. */
export const CONFIG = Object(readContext()[CONFIG_KEY]);

/**
 * @param onEnd removes the copy. Default: at the end of the test
 * @param replaced paths of files of the copy, with the files that are there instead
 */
export async function createCheckout(
  onEnd?: (remove: () => void) => void,
  replaced: Readonly<Record<string, URL>> = {},
): Promise<Checkout> {
  const directory = temporaryDirectory(onEnd);
  for (const folder of ['infra', 'functions'])
    cpSync(join(ROOT, folder), join(directory, folder), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(directory, file));
  for (const [path, file] of Object.entries(replaced)) cpSync(file, join(directory, path));
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const { href } = pathToFileURL(join(directory, 'infra/operate/cli/program.ts'));
  const { runCommandLine } = await import(href);
  return {
    run(config, args) {
      const cdkJson = JSON.stringify({ context: { [CONFIG_KEY]: config } });
      writeFileSync(join(directory, 'cdk.json'), typeof config === 'string' ? config : cdkJson);
      return runCommand(args, '', directory, runCommandLine);
    },
  };
}
