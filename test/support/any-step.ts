import { onTestFinished, vi } from 'vitest';
import * as z from 'zod/mini';
import { WindowState } from '../../functions/workflow/states.ts';
import { step } from '../../functions/workflow/step.ts';
import { asLambda, type Lambda, SETTINGS } from './lambda.ts';
import { windowOf } from './steps.ts';

/** The moment of every call, and how a timeline writes it. */
export const NOW = '2026-11-21T06:00:00.500Z';
export const AT = '2026-11-21T06:00:00Z';

export const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);

/** What every line of {@link window} names. */
export const ABOUT = {
  execution: 'test-execution',
  account: 'acme',
  export: 'daily',
  window: '2026-11-01/2026-11-02',
};

/** Lambda with all settings, at {@link NOW}. */
export function lambdaNow(): Lambda {
  vi.useFakeTimers({ now: new Date(NOW), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  return asLambda(SETTINGS);
}

/** The handler of a step of windows that comes to this. */
export function windowStep(run: (state: WindowState) => unknown) {
  return step(
    WindowState,
    async (state) => run(state),
    () => ({}),
  );
}

/** The handler of a step of anything that comes to this, whatever it is given. */
export function ending(output: unknown) {
  return step(
    z.unknown(),
    async () => output,
    () => ({}),
  );
}

/** The handler of a step of anything that throws this. */
export function failing(error: unknown) {
  return step(
    z.unknown(),
    async () => {
      throw error;
    },
    () => ({}),
  );
}

/** What Lambda tells Step Functions of a call that fails. */
export async function thrownBy(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => new Error('nothing was thrown'),
    (error) => error,
  );
}
