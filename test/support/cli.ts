import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The CLI's entry point. */
export const MAIN = fileURLToPath(new URL('../../infra/cli/main.ts', import.meta.url));

/** How a command ended. */
export interface CommandEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `npm run export -- <args>` as a process of its own. */
export function startCommand(args: readonly string[], stdin = '') {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: 'pipe' });
  child.stdin.end(stdin);
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[status], stdout, stderr]): CommandEnd => ({ status, stdout, stderr }),
  );
  return { child, ended };
}

export function runCommand(args: readonly string[], stdin?: string): Promise<CommandEnd> {
  return startCommand(args, stdin).ended;
}
