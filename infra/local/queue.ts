/** What one side adds and any number of others read, each from the beginning. */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void;
  /** Readers end once they have read all. */
  close(): void;
}

export function openQueue<T>(): Queue<T> {
  const items: T[] = [];
  let closed = false;
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    push(item) {
      items.push(item);
      wake();
    },
    close() {
      closed = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (let at = 0; ; at += 1) {
        while (at >= items.length) {
          if (closed) return;
          await changed.promise;
        }
        yield items[at] as T;
      }
    },
  };
}
