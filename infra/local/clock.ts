/** A clock that runs `speed` times faster than the machine's. Plain data, so processes can share it. */
export interface ClockAnchor {
  /** The moment, in epoch ms, at which both clocks show the same time. */
  readonly start: number;
  readonly speed: number;
  /** Milliseconds that the clock is ahead all the time. Default: 0. */
  readonly ahead?: number;
}

export interface Clock extends ClockAnchor {
  /** Epoch ms. */
  now(): number;
}

const RealDate = Date;

/** Epoch ms of the machine's clock, with fractions: at speed 1000, 1 ms is a second of the scaled clock. */
function realNow(): number {
  return performance.timeOrigin + performance.now();
}

function timeAt({ start, speed, ahead = 0 }: ClockAnchor): number {
  return ahead + (speed === 1 ? RealDate.now() : Math.floor(start + (realNow() - start) * speed));
}

export function scaledClock(speed: number, start = RealDate.now(), ahead = 0): Clock {
  const anchor = { start, speed, ahead };
  return { ...anchor, now: () => timeAt(anchor) };
}

/** Returns a `Date` whose current time is the scaled one. */
export function createScaledDate(anchor: ClockAnchor): DateConstructor {
  if (anchor.speed === 1 && !anchor.ahead) return RealDate;
  const now = () => timeAt(anchor);
  return new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  });
}

/** The longest delay of Node's timers. A longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Milliseconds added to each wait: two readings in whole milliseconds can show 14 for 14.3. */
const READING_ERROR_MS = 1;

interface ScaledTimers {
  setTimeout(callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): object;
  clearTimeout(timer: unknown): void;
  clearAll(): void;
}

/**
 * Returns timers that wait by the scaled clock, never less than asked and for any length. They are for the
 * waits of the state machine. Handlers keep the real timers: their connections are real.
 */
export function createScaledTimers({ speed }: ClockAnchor): ScaledTimers {
  const running = new Map<unknown, NodeJS.Timeout>();
  return {
    setTimeout(callback, ms = 0, ...args) {
      const deadline = realNow() + Math.ceil(ms / speed) + READING_ERROR_MS;
      const arm = () =>
        setTimeout(fire, Math.min(Math.ceil(Math.max(deadline - realNow(), 1)), MAX_DELAY_MS));
      const fire = () => {
        if (realNow() < deadline) return void running.set(timer, arm());
        running.delete(timer);
        callback(...args);
      };
      const timer = {};
      running.set(timer, arm());
      return timer;
    },
    clearTimeout(timer) {
      clearTimeout(running.get(timer));
      running.delete(timer);
    },
    clearAll() {
      for (const timer of running.values()) clearTimeout(timer);
      running.clear();
    },
  };
}
