import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';

/** An event as EventBridge delivers it. */
export interface BusEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: unknown;
}

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
  { account, region }: { readonly account: string; readonly region: string },
  now: () => number,
): EventBus {
  const events: BusEvent[] = [];
  const toEvent = ({ DetailType, Source, Detail }: Entry): BusEvent => ({
    version: '0',
    id: randomUUID(),
    'detail-type': DetailType,
    source: Source,
    account,
    // EventBridge writes whole seconds.
    time: new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z'),
    region,
    resources: [],
    detail: Detail,
  });
  return {
    events,
    async putEvents(input) {
      const { Entries } = input as { Entries: readonly Entry[] };
      const put = Entries.map(toEvent);
      await appendFile(file, put.map((event) => `${JSON.stringify(event)}\n`).join(''));
      events.push(...put);
    },
  };
}
