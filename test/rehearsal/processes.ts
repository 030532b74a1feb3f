import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** Default: 0. */
  readonly status?: number;
}

export type Processes = ReturnType<typeof createProcesses>;

/**
 * Creates a temporary folder for processes. Both go when this process ends, also by Ctrl-C.
 *
 * @param keeps leaves the folder
 */
export function createProcesses(keeps: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'rehearsal-'));
  // Each child begins a group, so that its own children end with it.
  const groups = new Set<number>();
  process.once('exit', () => {
    for (const group of groups) kill(group);
    if (!keeps) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.once(signal, () => process.exit(status));

  function start(program: string, args: readonly string[], { cwd = folder, env, stdin }: Options = {}) {
    const variables = { ...process.env, TMPDIR: folder, ...env };
    const child = spawn(program, args, { cwd, env: variables, stdio: 'pipe', detached: true });
    const { pid = 0 } = child;
    if (pid > 0) groups.add(pid);
    child.once('exit', () => groups.delete(pid));
    child.stdin.on('error', () => {}).end(stdin);
    return child;
  }

  return {
    folder,
    start,
    /** @returns what the command wrote to stdout. @throws Error with the end of its output */
    async run(program: string, args: readonly string[], options: Options = {}): Promise<string> {
      const child = start(program, args, options);
      const written = [text(child.stdout), text(child.stderr)] as const;
      const [[status], stdout, stderr] = await Promise.all([once(child, 'close'), ...written]);
      const line = [program, ...args].join(' ');
      const output = stdout + stderr;
      appendFileSync(join(folder, 'commands.log'), `$ ${line}\n${output}\n`);
      if (status === (options.status ?? 0)) return stdout;
      throw new Error(`${line} ended with ${status}:\n${output.slice(-3000)}`);
    },
  };
}

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
