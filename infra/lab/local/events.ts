import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { LOCAL_AWS_ACCOUNT, LOCAL_REGION } from './s3/server.ts';

interface Entry {
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: unknown;
}

export type EventBus = ReturnType<typeof createEventBus>;

/** An event bus that appends each event to a file, one per line. */
export function createEventBus(file: string, now: () => number) {
  const events: BusEvent[] = [];
  return {
    /** All events so far, in order. */
    events: events as readonly BusEvent[],
    /** The task `events:putEvents`. */
    async putEvents(input: unknown): Promise<void> {
      const { Entries } = input as { Entries: readonly Entry[] };
      const put = Entries.map((entry) => toEvent(entry, now()));
      await appendFile(file, put.map((event) => `${JSON.stringify(event)}\n`).join(''));
      events.push(...put);
    },
  };
}

export type BusEvent = ReturnType<typeof toEvent>;

/** An event as EventBridge delivers it. */
function toEvent({ Source, DetailType, Detail }: Entry, now: number) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': DetailType,
    source: Source,
    account: LOCAL_AWS_ACCOUNT,
    region: LOCAL_REGION,
    // EventBridge writes whole seconds.
    time: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    resources: [],
    detail: Detail,
  };
}
