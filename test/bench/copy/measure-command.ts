import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** The cost of one run. */
export interface Taken {
  readonly seconds: number;
  /** User and system time of the contender. The start of Node is not included. */
  readonly cpu: number;
  /** The peak, in bytes. */
  readonly rss: number;
}

const LOOK_MS = 10;

/**
 * Runs a shell script. Counts the CPU and memory of all its processes, their start included. Reads memory a hundred times
 * per second from /proc; gives NaN on a system without it.
 *
 * @throws if it ends with an error
 */
export async function measureCommand(script: string, environment: NodeJS.ProcessEnv): Promise<Taken> {
  const started = performance.now();
  // The second line of the shell's `times` has the user and system time of its children.
  const child = spawn('sh', ['-c', `${script} || exit 1; times`], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const peaks = new Map<number, number>();
  const look = setInterval(() => notePeaks(child.pid, peaks), LOOK_MS);
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  clearInterval(look);
  if (status !== 0) throw new Error(`It ended with status ${status}: ${script}`);
  const rss = peaks.size === 0 ? Number.NaN : [...peaks.values()].reduce((sum, peak) => sum + peak);
  return { seconds: (performance.now() - started) / 1000, cpu: childrensTime(output), rss };
}

/** `0m1.250000s 0m0.340000s` is 1.59. */
function childrensTime(times: string): number {
  const [, children = ''] = times.trim().split('\n').slice(-2);
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
}

/** Notes the peak memory of each process below `parent`, in bytes. */
function notePeaks(parent: number | undefined, peaks: Map<number, number>): void {
  for (const pid of childrenOf(parent)) {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
    if (kilobytes !== undefined) peaks.set(pid, Number(kilobytes) * 1024);
    notePeaks(pid, peaks);
  }
}

function childrenOf(pid: number | undefined): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** Empty if there is no such file: a process may have ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
