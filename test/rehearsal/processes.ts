import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** Reads what was written to stdout so far. Its first text goes to stdin, which then ends. */
  readonly answer?: (stdout: string) => Promise<string | undefined>;
  /** Default: 0. */
  readonly status?: number;
}

export type Processes = ReturnType<typeof createProcesses>;

/** Ctrl-C, or another signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** Of this process. */
  readonly status: number;

  constructor(signal: string, status: number) {
    super(`${signal} ended it.`);
    this.status = status;
  }
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * Creates a temporary folder for processes. Both go when this process ends.
 *
 * @param keeps leaves the folder
 */
export function createProcesses(keeps: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'rehearsal-'));
  // Each child begins a group, so that its own children end with it.
  const groups = new Set<number>();
  const servers = new Set<number>();
  process.once('exit', () => {
    for (const group of [...groups, ...servers]) kill(group);
    if (!keeps) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const interrupted = Promise.withResolvers<never>();
  interrupted.promise.catch(() => {});
  let interruption: Interrupted | undefined;
  for (const [signal, status] of Object.entries(SIGNALS))
    process.on(signal, () => {
      // The second one does not wait for what has to be removed.
      if (interruption) process.exit(status);
      interruption = new Interrupted(signal, status);
      for (const group of groups) kill(group);
      interrupted.reject(interruption);
    });

  function start(program: string, args: readonly string[], options: Options = {}) {
    const { cwd = folder, env, stdin, answer } = options;
    if (interruption) throw interruption;
    const variables = { ...process.env, TMPDIR: folder, ...env };
    const child = spawn(program, args, { cwd, env: variables, stdio: 'pipe', detached: true });
    const { pid = 0 } = child;
    if (pid > 0) groups.add(pid);
    child.once('exit', () => groups.delete(pid));
    child.stdin.on('error', () => {});
    if (answer) answerTo(child, answer);
    else child.stdin.end(stdin);
    return child;
  }

  return {
    folder,
    start,
    /** Rejects with {@link Interrupted} after the first signal, which also ends all commands. */
    interrupted: interrupted.promise,
    /** Lets a process live on after the first signal. */
    keepAlive({ pid = 0 }: { readonly pid?: number | undefined }): void {
      groups.delete(pid);
      servers.add(pid);
    },
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

function answerTo({ stdin, stdout }: ChildProcessWithoutNullStreams, answer: Required<Options>['answer']) {
  let written = '';
  stdout.on('data', async (bytes: Buffer) => {
    written += bytes;
    const line = await answer(written);
    if (line !== undefined && stdin.writable) stdin.end(line);
  });
}

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
