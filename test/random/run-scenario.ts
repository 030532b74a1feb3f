import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BusEvent } from '../../infra/local/events.ts';
import type { HistoryEvent } from '../../infra/local/history.ts';
import type { JournalEntry } from '../../infra/local/s3/server.ts';
import type { Call } from '../../infra/local/sandbox/exchange.ts';
import { parseFault } from '../../infra/local/sandbox/faults/parse-fault.ts';
import type { Workflow } from '../support/workflow.ts';
import type { Scenario, Wanted } from './scenario.ts';

/**
 * Real milliseconds within which a run has to end. At 1000 times the speed a window's worst case of 4 h takes 15 s, and
 * three of them one after the other 45 s; the rest is for a machine that does much else meanwhile.
 */
const DEADLINE = 240_000;

/** What was seen from the start of some executions to their end. */
export interface Phase {
  readonly ended: readonly Ended[];
  /** In the order in which the server saw them. */
  readonly calls: readonly Call[];
  readonly s3: readonly JournalEntry[];
  readonly announced: readonly Announced[];
  /** Every object under the exports' prefixes, by key. */
  readonly objects: ReadonlyMap<string, StoredFile>;
  /** Uploads that were begun and neither completed nor aborted. */
  readonly leftOpen: number;
}

export interface Ended {
  readonly wanted: Wanted;
  readonly execution: string;
  /** Absent where it had not ended by the deadline. */
  readonly status?: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';
  readonly error?: string;
  readonly cause?: string;
}

export interface Announced {
  readonly event: BusEvent;
  /** Requests that S3 had answered when the event was there. */
  readonly after: number;
}

export interface StoredFile {
  readonly bytes: Buffer;
  readonly encoding?: string;
}

/** A scenario with its faults, and then the same requests once more without any. */
export interface Played {
  readonly scenario: Scenario;
  readonly account: string;
  readonly faulty: Phase;
  readonly clean: Phase;
}

/** A run's place: names that no other run of the workflow has. */
export interface Place {
  readonly account: string;
  readonly prefix: string;
}

/** @param heal called when the faults are over */
export async function play(
  workflow: Workflow,
  scenario: Scenario,
  place: Place,
  heal: () => void,
): Promise<Played> {
  if (scenario.revoked) workflow.sandbox.revokeTokens();
  arm(workflow, scenario);
  const faulty = await observe(workflow, scenario.exports, place, scenario.kills);
  disarm(workflow);
  heal();
  const again = new Map(scenario.exports.filter(({ invalid }) => !invalid).map((one) => [one.name, one]));
  const clean = await observe(workflow, [...again.values()], place);
  return { scenario, account: place.account, faulty, clean };
}

function arm({ sandbox, s3, secrets, bus }: Workflow, scenario: Scenario): void {
  for (const fault of scenario.platform) sandbox.faults.add(parseFault(fault));
  s3.faults.push(...structuredClone(scenario.s3));
  secrets.faults.push(...structuredClone(scenario.secrets));
  bus.failNext(scenario.bus);
}

function disarm({ sandbox, s3, secrets, bus }: Workflow): void {
  sandbox.faults.clear();
  s3.faults.splice(0);
  secrets.faults.splice(0);
  bus.failNext(0);
}

async function observe(
  workflow: Workflow,
  exports: readonly Wanted[],
  { account, prefix }: Place,
  kills: Scenario['kills'] = [],
): Promise<Phase> {
  const { sandbox, s3, bus, history } = workflow;
  const from = { calls: sandbox.journal.length, s3: s3.journal.length, events: bus.events.length };
  const openBefore = await openUploads(workflow);
  const announced: Announced[] = [];
  let events = 0;
  const look = (_: HistoryEvent) => {
    events += 1;
    for (const kill of kills) if (kill.event === events) setTimeout(killAll, kill.after, workflow);
    const news = bus.events.slice(from.events + announced.length);
    announced.push(...news.map((event) => ({ event, after: s3.journal.length - from.s3 })));
  };
  const running = exports.map(async (wanted): Promise<Ended> => {
    const name = `${prefix}-${wanted.name}`;
    const request = { ...wanted.fields, ...idsFor(wanted, workflow), name, account };
    const execution = workflow.export(request, `${name}-${history.executions.length}`);
    const watching = (async () => {
      for await (const event of execution.events) look(event);
      return execution.result;
    })();
    const late = sleep(DEADLINE, {}, { ref: false });
    return { wanted, execution: execution.name, ...(await Promise.race([watching, late])) };
  });
  const ended = await Promise.all(running);
  return {
    ...{ ended, announced, calls: sandbox.journal.slice(from.calls), s3: s3.journal.slice(from.s3) },
    objects: await objectsUnder(workflow, `exports/account=${account}/export=${prefix}-`),
    leftOpen: (await openUploads(workflow)) - openBefore,
  };
}

function idsFor({ fields, invalid }: Wanted, { sandbox }: Workflow): Record<string, unknown> {
  if (fields.kind === 'report') return { advertiser_ids: sandbox.advertiserIds.slice(0, 2) };
  return fields.kind === 'purchases' && !invalid ? { advertiser_id: sandbox.advertiserIds[0] } : {};
}

function killAll(workflow: Workflow): void {
  for (const { environment } of workflow.assembly.functions)
    void workflow.functionOf(environment.STEP ?? '').kill();
}

async function objectsUnder(workflow: Workflow, prefix: string): Promise<Map<string, StoredFile>> {
  const keys = (await workflow.keys()).filter((key) => key.startsWith(prefix));
  const files = keys.map(async (key) => {
    const meta = JSON.parse(String(await workflow.object(`.meta/${key}.json`)));
    const encoding = meta.contentEncoding && { encoding: meta.contentEncoding };
    return [key, { bytes: await workflow.object(key), ...encoding }] as const;
  });
  return new Map(await Promise.all(files));
}

/** Folders of the S3 endpoint's own, one for each upload that is neither complete nor aborted. */
async function openUploads({ out, bucket }: Workflow): Promise<number> {
  const entries = await readdir(join(out, bucket, '.uploads'), { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).length;
}
