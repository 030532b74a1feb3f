/** Ctrl-C, and the signal that schedulers and containers send. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** npm sends SIGTERM to the shell that it started, which ends without passing it on. */
const CHECK_PARENT_MS = 1_000;

/** Aborts its signal when the command is told to stop. A second time, the process just ends. */
export function catchInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  for (const name of SIGNALS) process.once(name, interrupt);
  const parent = process.ppid;
  const checkParent = () => process.ppid !== parent && interrupt();
  const isOfNpm = process.env.npm_lifecycle_event !== undefined;
  const checking = isOfNpm ? setInterval(checkParent, CHECK_PARENT_MS).unref() : undefined;
  return {
    signal: interrupted.signal,
    [Symbol.dispose]() {
      clearInterval(checking);
      for (const name of SIGNALS) process.off(name, interrupt);
    },
  };
}
