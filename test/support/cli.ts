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

/** Runs `npm run export -- <args>` as a process of its own. @param cwd has `cdk.out`. Default: that of the tests */
export function startCommand(args: readonly string[], stdin = '', cwd = process.cwd()) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: 'pipe', cwd });
  child.stdin.end(stdin);
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[status], stdout, stderr]): CommandEnd => ({ status, stdout, stderr }),
  );
  return { child, ended };
}

export function runCommand(args: readonly string[], stdin?: string, cwd?: string): Promise<CommandEnd> {
  return startCommand(args, stdin, cwd).ended;
}
