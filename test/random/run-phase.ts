import { globSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MANIFEST } from '../../functions/workflow/keys.ts';
import type { Call } from '../../infra/lab/sandbox/exchange.ts';
import type { JsonCall, S3Call } from '../support/faulty-services.ts';
import type { Workflow } from '../support/workflow.ts';
import type { Announced, Ended, Phase } from './phase.ts';
import type { RequestedExport, Scenario } from './scenario.ts';
import { readTable } from './tables.ts';

/**
 * Real milliseconds within which a run has to end. At 1000 times the speed a window's worst case of 4 h takes
 * 15 s, and three of them one after the other 45 s. The rest is for a busy machine.
 */
const DEADLINE = 240_000;

export interface Names {
  /** One account, or all accounts of the scenario's only export. */
  readonly accounts: readonly string[];
  /** No other scenario of the workflow has it. */
  readonly prefix: string;
}

/** @returns what concerns each account, beside what the accounts have in common */
export async function runPhase(
  workflow: Workflow,
  exports: readonly RequestedExport[],
  { accounts, prefix }: Names,
  kills: Pick<Scenario, 'kills' | 'tableKills'> = { kills: [], tableKills: [] },
): Promise<Phase[]> {
  const { sandbox, s3, bus, executions, clock } = workflow;
  const from = {
    calls: sandbox.journal.length,
    s3: s3.journal.length,
    events: bus.events.length,
    executions: executions.length,
  };
  const announced: Announced[] = [];
  const record = () => {
    const news = bus.events.slice(from.events + announced.length);
    announced.push(...news.map((event) => ({ event, after: s3.journal.length - from.s3 })));
  };
  using _ = killAtCalls(workflow, kills);
  // A scheduled run that starts twice names the same time.
  const scheduled_at = new Date(clock.now()).toISOString();
  const [only = ''] = accounts;
  const who =
    accounts.length === 1
      ? { account: only }
      : { accounts: accounts.map((account) => ({ account })), max_accounts: 2, scheduled_at };
  const running = exports.map(async (requested): Promise<Ended> => {
    const name = `${prefix}-${requested.name}`;
    if (requested.startAfter) await sleep((1000 * requested.startAfter) / clock.speed);
    const request = { ...requested.fields, ...idsFor(requested, workflow), name, ...who };
    const execution = workflow.export(request, `${name}-${executions.length}`);
    execution.listen(record);
    const late = sleep(DEADLINE, {}, { ref: false });
    return { requested, execution: execution.name, ...(await Promise.race([execution.result, late])) };
  });
  const started = await Promise.all(running);
  const common = { announced, calls: sandbox.journal.slice(from.calls), s3: s3.journal.slice(from.s3) };
  const all = executions.slice(from.executions);
  const phases = accounts.map(async (account): Promise<Phase> => {
    const ofAccount = all.filter(({ events }) => Object(events[0]?.input).account === account);
    const reports = exports.filter(({ fields, invalid }) => fields.kind === 'report' && !invalid);
    const tables = [...new Map(reports.map((report) => [report.name, report]))].map(
      ([exported, { fields }]) => {
        const name = `${prefix}-${exported}`;
        const histories = ofAccount.flatMap(({ execution, events }) =>
          execution.startsWith(`${name}-`) ? [events] : [],
        );
        return readTable(workflow, { name, account, metrics: fields.metrics as string[] }, histories);
      },
    );
    const [requested] = exports;
    const children = ofAccount.flatMap(({ execution, result }) =>
      requested ? [{ requested, execution, ...result }] : [],
    );
    return {
      ...common,
      ...(accounts.length === 1 ? { ended: started, parents: [] } : { ended: children, parents: started }),
      ...(await objectsOf(workflow, account, prefix)),
      tables: await Promise.all(tables),
    };
  });
  return Promise.all(phases);
}

export function idsFor({ fields, invalid }: RequestedExport, { sandbox }: Workflow): Record<string, unknown> {
  const { advertiser_ids = sandbox.advertiserIds.slice(0, 2) } = fields;
  if (fields.kind === 'report') return { advertiser_ids };
  return fields.kind === 'purchases' && !invalid ? { advertiser_id: sandbox.advertiserIds[0] } : {};
}

type AnyCall = Call | S3Call | JsonCall;

/**
 * Kills functions after these of the calls from now on. At a call, not at a time, so that a seed kills at the
 * same place again.
 *
 * @param kills counts all calls @param tableKills counts CurateReport's calls that concern the table
 */
function killAtCalls(workflow: Workflow, { kills, tableKills }: Pick<Scenario, 'kills' | 'tableKills'>) {
  const { sandbox, s3, secrets, glue } = workflow;
  const journals = [sandbox, s3, secrets, glue].map(({ journal }) => journal as AnyCall[]);
  let calls = 0;
  let ofTable = 0;
  const count = (call: AnyCall) => {
    if (kills.includes(++calls)) killAll(workflow);
    if (isOfTable(call) && tableKills.includes(++ofTable)) void workflow.functionOf('CurateReport').kill();
  };
  for (const journal of journals) {
    journal.push = (...entries) => {
      entries.forEach(count);
      return Array.prototype.push.apply(journal, entries);
    };
  }
  return {
    [Symbol.dispose]() {
      for (const journal of journals) Reflect.deleteProperty(journal, 'push');
    },
  };
}

/** A call that concerns the table: its schema, an object of a month, or one of the ledger. */
function isOfTable(call: AnyCall): boolean {
  return 'table' in call || ('key' in call && call.key.endsWith('.parquet'));
}

function killAll(workflow: Workflow): void {
  for (const { environment } of workflow.assembly.functions)
    void workflow.functionOf(environment.STEP ?? '').kill();
}

/** Reads only the folders of these exports, because earlier scenarios may have left many. */
async function objectsOf({ out, bucket, object }: Workflow, account: string, prefix: string) {
  const keys = globSync(`exports/account=${account}/export=${prefix}-*/**/*.*`, { cwd: join(out, bucket) });
  const read = async (bytes: Promise<Buffer>, meta: string) => {
    const { contentEncoding: encoding } = JSON.parse(String(await object(meta)));
    return { bytes: await bytes, ...(encoding && { encoding }) };
  };
  const files = keys.sort().map(async (key) => [key, await read(object(key), `.meta/${key}.json`)] as const);
  const objects = new Map(await Promise.all(files));
  const named = [...objects].flatMap(([key, { bytes }]) =>
    key.endsWith(`/${MANIFEST}`) ? [[key, JSON.parse(String(bytes))] as const] : [],
  );
  const published = named.map(async ([key, { key: of, version_id: id }]) => {
    return [key, await read(object(of, id), `.versions/${id}.json`)] as const;
  });
  return { objects, published: new Map(await Promise.all(published)) };
}
