import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';

/** An event as EventBridge delivers it. */
export type BusEvent = ReturnType<typeof toEvent>;

export interface EventBus {
  /** All events so far, in order. */
  readonly events: readonly BusEvent[];
  /** The task `events:putEvents`. */
  putEvents(input: unknown): Promise<void>;
}

interface Entry {
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: unknown;
}

/** An event bus that appends each event to a file, one per line. */
export function createEventBus(
  file: string,
  place: { readonly account: string; readonly region: string },
  now: () => number,
): EventBus {
  const events: BusEvent[] = [];
  return {
    events,
    async putEvents(input) {
      const { Entries } = input as { Entries: readonly Entry[] };
      const put = Entries.map((entry) => ({ ...toEvent(entry, now()), ...place }));
      await appendFile(file, put.map((event) => `${JSON.stringify(event)}\n`).join(''));
      events.push(...put);
    },
  };
}

function toEvent({ Source, DetailType, Detail }: Entry, now: number) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': DetailType,
    source: Source,
    // EventBridge writes whole seconds.
    time: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    resources: [],
    detail: Detail,
  };
}
