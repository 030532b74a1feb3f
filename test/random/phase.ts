import type { BusEvent } from '../../infra/lab/local/events.ts';
import type { Call } from '../../infra/lab/sandbox/exchange.ts';
import type { S3Call } from '../support/faulty-services.ts';
import type { RequestedExport } from './scenario.ts';
import type { Table } from './tables.ts';

/** Everything that was recorded from the start of some executions to their end. */
export interface Phase {
  /** The executions of one account. */
  readonly ended: readonly Ended[];
  /** The executions that exported several accounts. */
  readonly parents: readonly Ended[];
  readonly calls: readonly Call[];
  readonly s3: readonly S3Call[];
  readonly announced: readonly Announced[];
  /** Every object of the exports, by key. */
  readonly objects: ReadonlyMap<string, StoredFile>;
  /** The version of the object that a manifest names, by the manifest's key. */
  readonly published: ReadonlyMap<string, StoredFile>;
  /** The tables of exports that are reports. */
  readonly tables: readonly Table[];
}

export interface Ended {
  readonly requested: RequestedExport;
  readonly execution: string;
  /** Absent if the execution did not end before the deadline. */
  readonly status?: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';
  readonly error?: string;
  readonly cause?: string;
}

export interface Announced {
  readonly event: BusEvent;
  /** The number of requests that S3 had answered before the event. */
  readonly after: number;
}

export interface StoredFile {
  readonly bytes: Buffer;
  readonly encoding?: string;
}
