/** A clock that runs `speed` times faster than the machine's. Plain data, so processes can share it. */
export interface ClockAnchor {
  /** Epoch ms by the machine's clock, at which this one shows `start`. */
  readonly real: number;
  readonly start: number;
  readonly speed: number;
  /** The clock never passes the machine's. When it has caught up, it runs with it. */
  readonly catchesUp?: boolean;
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

function timeAt(anchor: ClockAnchor): number {
  const { real, start, speed } = anchor;
  // Only Date follows the machine's clock when that is set, or after a sleep of the machine.
  if (speed === 1) return RealDate.now() + Math.round(start - real);
  const now = realNow();
  const scaled = start + (now - real) * speed;
  return Math.floor(Math.min(scaled, slowTime(anchor, now)));
}

/**
 * The latest time of a clock that catches up: the machine's, or the time at speed 1 if it began later.
 */
function slowTime({ real, start, catchesUp = false }: ClockAnchor, now: number): number {
  return catchesUp ? now + Math.max(start - real, 0) : Number.POSITIVE_INFINITY;
}

/** The time of the machine at which the clock shows a time. */
function realTimeOf(time: number, { real, start, speed, catchesUp = false }: ClockAnchor): number {
  const scaled = real + (time - start) / speed;
  return catchesUp ? Math.max(scaled, time - Math.max(start - real, 0)) : scaled;
}

/** @param start what the clock shows now */
export function scaledClock(speed: number, start = realNow(), catchesUp = false): Clock {
  const anchor = { real: realNow(), start, speed, catchesUp };
  return { ...anchor, now: () => timeAt(anchor) };
}

/** Returns a `Date` whose current time is the scaled one. */
export function createScaledDate(anchor: ClockAnchor): DateConstructor {
  const now = () => timeAt(anchor);
  return new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  });
}

/** The longest delay of Node's timers. A longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Milliseconds added to each wait: two readings in whole milliseconds can show 14 for 14.3. */
const READING_ERROR_MS = 1;

/**
 * Returns timers that wait by the scaled clock, never less than asked and for any length. They are for the
 * waits of the state machine. Handlers keep the real timers: their connections are real.
 */
export function createScaledTimers(anchor: ClockAnchor) {
  const running = new Map<unknown, NodeJS.Timeout>();
  return {
    setTimeout(callback: () => void, ms = 0): object {
      const deadline = Math.ceil(realTimeOf(timeAt(anchor) + ms, anchor)) + READING_ERROR_MS;
      const arm = () =>
        setTimeout(fire, Math.min(Math.ceil(Math.max(deadline - realNow(), 1)), MAX_DELAY_MS));
      const fire = () => {
        if (realNow() < deadline) return void running.set(timer, arm());
        running.delete(timer);
        callback();
      };
      const timer = {};
      running.set(timer, arm());
      return timer;
    },
    clearTimeout(timer: unknown) {
      clearTimeout(running.get(timer));
      running.delete(timer);
    },
    clearAll() {
      for (const timer of running.values()) clearTimeout(timer);
      running.clear();
    },
  };
}
