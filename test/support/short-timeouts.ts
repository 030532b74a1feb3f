import { onTestFinished, vi } from 'vitest';

/** Makes AbortSignal.timeout 50 times shorter until the test ends. The spy's calls hold the original milliseconds. */
export function shortenTimeouts() {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 50));
  onTestFinished(() => timeouts.mockRestore());
  return timeouts;
}
