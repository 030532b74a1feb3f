import { onTestFinished, vi } from 'vitest';
import * as z from 'zod/mini';
import { createHandler } from '../../functions/aws/handler.ts';
import { READS } from '../../functions/workflow/settings.ts';
import { WindowState } from '../../functions/workflow/states.ts';
import { asLambda, type Lambda, SETTINGS } from './lambda.ts';
import { windowOf } from './steps.ts';

/** The time of every call. */
export const NOW = '2026-11-21T06:00:00.500Z';

export const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);

/** The fields of every log line about {@link window}. */
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

const noDependencies = () => ({});

/** A handler that checks for a window's state. */
export function windowHandler(run: (state: WindowState) => unknown) {
  return createHandler(READS.CheckReport, WindowState, async (state) => run(state), noDependencies);
}

/** A handler that accepts any state. */
export function anyHandler(run: () => unknown) {
  return createHandler(READS.CheckReport, z.unknown(), async () => run(), noDependencies);
}

export function failingHandler(error: unknown) {
  return anyHandler(() => {
    throw error;
  });
}
