import type { Environment } from 'vitest/runtime';

declare global {
  /** Closed when the worker ends: the files of a worker share what is in it. */
  var closedWithWorker: AsyncDisposableStack;
}

export default {
  name: 'workflow',
  viteEnvironment: 'ssr',
  setup(global) {
    const resources = new AsyncDisposableStack();
    Object.assign(global, { closedWithWorker: resources });
    return { teardown: () => resources.disposeAsync() };
  },
} satisfies Environment;
