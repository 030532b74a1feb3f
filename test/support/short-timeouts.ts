import { onTestFinished, vi } from 'vitest';

/** Has the time-outs of a test's own thread end after a fiftieth of their time; what they were asked for is in its calls. */
export function shortenTimeouts() {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 50));
  onTestFinished(() => timeouts.mockRestore());
  return timeouts;
}
