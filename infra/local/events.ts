import { randomUUID } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TaskError } from './task-error.ts';

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
  /** Makes the next calls of putEvents fail, this many times. */
  failNext(times: number): void;
  /**
   * The task `events:putEvents`.
   *
   * @throws TaskError named `EventBridge.FailedEntry`
   */
  putEvents(input: unknown): Promise<unknown>;
}

interface Entry {
  readonly Source: string;
  readonly DetailType: string;
  /** An object or its JSON. */
  readonly Detail: unknown;
  readonly Resources?: readonly string[];
}

/** The largest entry that EventBridge accepts. */
const MAX_ENTRY_BYTES = 256 * 1024;

/** An event bus that appends each event to a file, one per line. */
export function createEventBus(
  file: string,
  { account, region }: { readonly account: string; readonly region: string },
  now: () => number,
): EventBus {
  const events: BusEvent[] = [];
  let failures = 0;
  const toEvent = (entry: Entry): BusEvent => {
    if (Buffer.byteLength(JSON.stringify(entry)) > MAX_ENTRY_BYTES) throw failedEntry('EntryTooLarge', 1);
    return {
      version: '0',
      id: randomUUID(),
      'detail-type': entry.DetailType,
      source: entry.Source,
      account,
      // EventBridge writes whole seconds.
      time: new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z'),
      region,
      resources: entry.Resources ?? [],
      detail: typeof entry.Detail === 'string' ? JSON.parse(entry.Detail) : entry.Detail,
    };
  };
  return {
    events,
    failNext(times) {
      failures = times;
    },
    async putEvents(input) {
      const { Entries } = input as { Entries: readonly Entry[] };
      if (failures > 0) {
        failures -= 1;
        throw failedEntry('InternalFailure', Entries.length);
      }
      const put = Entries.map(toEvent);
      await mkdir(dirname(file), { recursive: true });
      await appendFile(file, put.map((event) => `${JSON.stringify(event)}\n`).join(''));
      events.push(...put);
      return { Entries: put.map(({ id }) => ({ EventId: id })), FailedEntryCount: 0 };
    },
  };
}

function failedEntry(ErrorCode: string, count: number): TaskError {
  const Entries = Array.from({ length: count }, () => ({ ErrorCode }));
  const cause = JSON.stringify({ Entries, FailedEntryCount: count });
  return new TaskError({ error: 'EventBridge.FailedEntry', cause });
}
