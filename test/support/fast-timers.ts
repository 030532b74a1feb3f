import { createRequire } from 'node:module';

/**
 * Loaded before a function's bundle, this makes the timers of its process 20 times faster. Time-outs and
 * pauses of a copy are real time even if the clock of the workflow is faster.
 */
const FASTER = 20;

const promises = createRequire(import.meta.url)('node:timers/promises');

const { setTimeout: callLater, setInterval: callEvery } = globalThis;
globalThis.setTimeout = ((callback: () => void, ms = 0, ...args: []) =>
  callLater(callback, ms / FASTER, ...args)) as typeof setTimeout;
globalThis.setInterval = ((callback: () => void, ms = 0, ...args: []) =>
  callEvery(callback, ms / FASTER, ...args)) as typeof setInterval;

const { setTimeout: sleep } = promises;
promises.setTimeout = (ms = 0, ...args: unknown[]) => sleep(ms / FASTER, ...args);

// A call to S3 or Secrets Manager may take 5 s. On a busy machine a twentieth of that is too short.
const MIN_MS = 2_000;

// The time of CurateReport itself. It works all the time, and does so no faster.
const WORK_MS = 60_000;

const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) =>
  process.env.STEP === 'CurateReport' && ms > WORK_MS
    ? timeout(ms)
    : timeout(Math.max(Math.ceil(ms / FASTER), Math.min(ms, MIN_MS)));
