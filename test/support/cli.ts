import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { runCommandLine } from '../../infra/operate/cli/program.ts';
import { setConfigFile } from '../../infra/operate/place/load-config.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The CLI's entry point. */
export const MAIN = fileURLToPath(new URL('../../infra/operate/cli/main.ts', import.meta.url));

/** The end of a command. */
export interface CommandEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `npm run export -- <args>` as a process with a temporary folder of its own, which stays if the process
 * is killed.
 *
 * @param stdin null leaves it open
 */
export function startCommand(args: readonly string[], stdin: string | null = '') {
  const env = { ...process.env, TMPDIR: temporaryDirectory() };
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: 'pipe', env });
  if (stdin !== null) child.stdin.end(stdin);
  return { child, ended: endOf(child) };
}

export async function endOf(child: ChildProcessWithoutNullStreams): Promise<CommandEnd> {
  const written = [text(child.stdout), text(child.stderr)] as const;
  const [[status], stdout, stderr] = await Promise.all([once(child, 'close'), ...written]);
  return { status, stdout, stderr };
}

/**
 * Runs `npm run export -- <args>` in this process, because loading the CLI takes a new one 0.3 s of CPU. One
 * at a time.
 *
 * @param cwd default: the folder of the tests
 * @param commandLine of another checkout
 */
export async function runCommand(
  args: readonly string[],
  stdin = '',
  cwd = '.',
  commandLine = runCommandLine,
): Promise<CommandEnd> {
  const { argv, exitCode } = process;
  const env = { ...process.env };
  const folder = process.cwd();
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockReturnValue(true),
  );
  const written = () => spies.map(({ mock }) => mock.calls.map(([piece]) => String(piece)).join(''));
  const input = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([stdin]) as never);
  process.argv = [process.execPath, MAIN, ...args];
  process.exitCode = undefined;
  process.chdir(cwd);
  try {
    await commandLine();
    const [stdout = '', stderr = ''] = written();
    return { status: Number(process.exitCode ?? 0), stdout, stderr };
  } finally {
    for (const spy of [...spies, input]) spy.mockRestore();
    process.chdir(folder);
    setConfigFile(undefined, false);
    Object.assign(process, { argv, exitCode });
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
  }
}
