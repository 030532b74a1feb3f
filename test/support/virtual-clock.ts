import { setImmediate as settle } from 'node:timers/promises';
import { createDate } from '../../infra/local/clock.ts';
import type { Time } from '../../infra/local/step-functions.ts';

/** A clock that jumps to the next timer as soon as nothing else can happen. */
export interface VirtualClock extends Time {
  /** Epoch ms. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Lets time pass until the promise is settled. @throws Error if no timer is left that could settle it */
  runUntil<T>(promise: Promise<T>): Promise<T>;
}

export function createVirtualClock(start: number): VirtualClock {
  let time = start;
  const timers = new Map<unknown, { at: number; fire: () => void }>();
  const setTimeout = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const timer = {};
    timers.set(timer, { at: time + Math.max(0, ms), fire: () => callback(...args) });
    return timer;
  };
  const clearTimeout = (timer: unknown) => void timers.delete(timer);
  const fireNext = () => {
    const [first] = [...timers].sort(([, one], [, other]) => one.at - other.at);
    if (!first) throw new Error('Nothing is left to wait for');
    const [timer, { at, fire }] = first;
    timers.delete(timer);
    time = Math.max(time, at);
    fire();
  };
  return {
    now: () => time,
    Date: createDate(() => time),
    timers: { setTimeout, clearTimeout, clearAll: () => timers.clear() },
    sleep: (ms) => new Promise((resolve) => void setTimeout(() => resolve(), ms)),
    async runUntil(promise) {
      let isSettled = false;
      const end = () => {
        isSettled = true;
      };
      promise.then(end, end);
      for (;;) {
        await settle();
        if (isSettled) return promise;
        fireNext();
      }
    },
  };
}
