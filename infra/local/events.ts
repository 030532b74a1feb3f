import { randomUUID } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TaskError } from './task-error.ts';
import type { Place } from './template.ts';

/** An event as EventBridge hands it to a target. */
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
  /** Those announced since the start, in order. */
  readonly events: readonly BusEvent[];
  /** Makes the next announcements fail, so many times. */
  failNext(times: number): void;
  /**
   * What the task `events:putEvents` does.
   *
   * @throws TaskError named `EventBridge.FailedEntry`
   */
  putEvents(input: unknown): Promise<unknown>;
}

interface Entry {
  readonly Source: string;
  readonly DetailType: string;
  /** The task takes an object or its JSON. */
  readonly Detail: unknown;
  readonly Resources?: readonly string[];
}

/** Largest entry that EventBridge takes. */
const MAX_ENTRY_BYTES = 256 * 1024;

/** An event bus whose only target is a file: one event a line, appended. */
export function openEventBus(file: string, place: Place, now: () => number): EventBus {
  const events: BusEvent[] = [];
  let failures = 0;
  return {
    events,
    failNext(times) {
      failures = times;
    },
    async putEvents(input) {
      const { Entries } = input as { Entries: readonly Entry[] };
      if (failures > 0) {
        failures -= 1;
        throw failed('InternalFailure', Entries.length);
      }
      const put = Entries.map((entry) => toEvent(entry, place, now()));
      await mkdir(dirname(file), { recursive: true });
      await appendFile(file, put.map((event) => `${JSON.stringify(event)}\n`).join(''));
      events.push(...put);
      return { Entries: put.map(({ id }) => ({ EventId: id })), FailedEntryCount: 0 };
    },
  };
}

function toEvent(entry: Entry, place: Place, time: number): BusEvent {
  const detail = typeof entry.Detail === 'string' ? JSON.parse(entry.Detail) : entry.Detail;
  if (Buffer.byteLength(JSON.stringify(entry)) > MAX_ENTRY_BYTES) throw failed('EntryTooLarge', 1);
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': entry.DetailType,
    source: entry.Source,
    account: place.account,
    // EventBridge writes whole seconds.
    time: new Date(time).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: place.region,
    resources: entry.Resources ?? [],
    detail,
  };
}

function failed(ErrorCode: string, count: number): TaskError {
  const Entries = Array.from({ length: count }, () => ({ ErrorCode }));
  const cause = JSON.stringify({ Entries, FailedEntryCount: count });
  return new TaskError({ error: 'EventBridge.FailedEntry', cause });
}
