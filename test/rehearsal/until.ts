import { setTimeout as wait } from 'node:timers/promises';

type Value<T> = Exclude<T, false | undefined>;

/**
 * Asks every two seconds, as nobody says when it is there.
 *
 * @returns the first value of `find` that is one
 * @throws Error if there is none after these minutes
 */
export async function until<T>(what: string, find: () => T | Promise<T>, minutes = 10): Promise<Value<T>> {
  const end = Date.now() + minutes * 60_000;
  while (Date.now() < end) {
    const value = await find();
    if (value) return value as Value<T>;
    await wait(2_000);
  }
  throw new Error(`${minutes} minutes have passed without this: ${what}`);
}
