/**
 * A clock that runs `speed` times faster than the machine's, from `start` on. It is plain data, so that every thread
 * can have the same one.
 */
export interface ClockAnchor {
  /** Epoch ms at which both clocks agree. */
  readonly start: number;
  readonly speed: number;
}

const RealDate = Date;

/** The real moment in epoch ms, with fractions: at speed 1000 a whole millisecond is a second of the scaled clock. */
function realNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Epoch ms by the scaled clock; whole ones, as Date has them. */
export function timeAt({ start, speed }: ClockAnchor): number {
  return speed === 1 ? RealDate.now() : Math.floor(start + (realNow() - start) * speed);
}

export function scaledClock(speed: number, start = RealDate.now()): ClockAnchor & { now(): number } {
  const anchor = { start, speed };
  return { ...anchor, now: () => timeAt(anchor) };
}

/** Makes `new Date()` and `Date.now()` of this thread tell the scaled time. Timers stay as they are. */
export function installDate(anchor: ClockAnchor): void {
  if (anchor.speed === 1) return;
  const now = () => timeAt(anchor);
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  });
}

/** The longest delay of a timer of Node's; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Real ms that a scaled wait takes. One more than the division says, because whoever measures the wait may do so in
 * whole milliseconds: two readings 14.3 ms apart can differ by 14.
 */
export function realDelay(ms: number, speed: number): number {
  return Math.ceil(ms / speed) + 1;
}

/**
 * Makes `setTimeout` of this thread wait by the scaled clock, never shorter than asked, and for any length. Only for
 * the thread of the state machine, whose timers are waits: a handler's are time-outs of real connections.
 */
export function installTimers({ speed }: ClockAnchor): void {
  const { setTimeout: setReal, clearTimeout: clearReal } = globalThis;
  const running = new Map<unknown, NodeJS.Timeout>();
  const set = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const deadline = realNow() + realDelay(ms, speed);
    const arm = (): NodeJS.Timeout =>
      setReal(fire, Math.min(Math.ceil(Math.max(deadline - realNow(), 1)), MAX_DELAY_MS));
    const fire = () => {
      if (realNow() < deadline) return void running.set(first, arm());
      running.delete(first);
      callback(...args);
    };
    const first = arm();
    running.set(first, first);
    return first;
  };
  const clear = (timer: unknown) => {
    clearReal(running.get(timer));
    running.delete(timer);
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
}
