/** Ctrl-C, and the signal that schedulers and containers send. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Aborts its signal when the command is told to stop, until it is disposed of. A second time, the process just ends. */
export function catchInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  for (const name of SIGNALS) process.once(name, interrupt);
  return {
    signal: interrupted.signal,
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, interrupt);
    },
  };
}
