import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** The cost of one run. */
export interface Taken {
  readonly seconds: number;
  /** User and system time. */
  readonly cpu: number;
  /** The peak of all processes together, in bytes. */
  readonly rss: number;
}

const LOOK_MS = 10;

/**
 * Runs a shell script. Counts the CPU and memory of all its processes, their start included. Reads memory a
 * hundred times per second from /proc; gives NaN on a system without it.
 *
 * @throws if it ends with an error
 */
export async function measureCommand(script: string): Promise<Taken> {
  const started = performance.now();
  // The second line of the shell's `times` has the user and system time of its children.
  const child = spawn('sh', ['-c', `${script} || exit 1; times`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let rss = 0;
  const look = setInterval(() => {
    const { now, peak } = readMemory(child.pid);
    // The sum misses peaks between two looks. `peak` has the peak of a single process.
    rss = Math.max(rss, now, peak);
  }, LOOK_MS);
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  clearInterval(look);
  if (status !== 0) throw new Error(`It ended with status ${status}: ${script}`);
  return {
    seconds: (performance.now() - started) / 1000,
    cpu: childrensTime(output),
    rss: rss || Number.NaN,
  };
}

/** `0m1.250000s 0m0.340000s` is 1.59. */
function childrensTime(times: string): number {
  const [, children = ''] = times.trim().split('\n').slice(-2);
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
}

/** The memory of all processes below `parent`, in bytes: their sum now, and the largest peak of one. */
function readMemory(parent: number | undefined): { now: number; peak: number } {
  let [now, peak] = [0, 0];
  for (const pid of childrenOf(parent)) {
    const status = read(`/proc/${pid}/status`);
    const below = readMemory(pid);
    now += kilobytes(status, 'VmRSS') * 1024 + below.now;
    peak = Math.max(peak, kilobytes(status, 'VmHWM') * 1024, below.peak);
  }
  return { now, peak };
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
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

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
