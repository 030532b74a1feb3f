import type { JsonObject } from '../../../functions/workflow/json.ts';
import {
  factsOf,
  joinRequests,
  MAX_FACTS_BYTES,
  withoutFacts,
} from '../../../functions/workflow/request/accounts.ts';
import type { ConfiguredExport } from './exports.ts';
import { checkExpression, type Schedule } from './schedule.ts';

/** An execution that a schedule starts. */
export interface ScheduledRun {
  /** Names contain no dot, and none is empty, so it is unique. */
  readonly id: string;
  readonly description: string;
  readonly schedule: Schedule;
  /** Its input, without the time. */
  readonly input: JsonObject;
}

/** The scheduled runs of the exports, each for accounts whose requests differ in their facts only. */
function sharedRuns(exports: readonly ConfiguredExport[]) {
  const all = exports.flatMap(({ name, runs }) =>
    runs.flatMap((run, place) => {
      if (!run.schedule) return [];
      const schedule = { ...run.schedule, time_zone: run.schedule.time_zone ?? 'UTC' };
      const { request, ready_by, tell } = run;
      const alike = JSON.stringify([place, schedule, ready_by, tell, withoutFacts(request)]);
      return [{ ...run, alike, name, place, schedule, facts: factsOf(request) }];
    }),
  );
  return [...Map.groupBy(all, ({ alike }) => alike).values()]
    .flatMap((runs) => splitBySize(runs, ({ facts }) => facts))
    .map((runs) => ({ ...runs[0], requests: runs.map(({ request }) => request) }));
}

/** The name of a run of the config, such as `daily-campaigns#2`. @param place from 0 */
export function runName(name: string, place: number): string {
  return `${name}#${place + 1}`;
}

/** The scheduled runs: one for the accounts that it is the same for. */
export function runsToStart(exports: readonly ConfiguredExport[], maxAccounts: number): ScheduledRun[] {
  const byName = Map.groupBy(sharedRuns(exports), ({ name }) => name);
  return [...byName].flatMap(([name, runs]) =>
    runs.map(({ requests, schedule, place }, at) => {
      const [account, ...others] = requests.map((request) => String(request.account));
      const accounts = others.length === 0 ? `account ${account}` : `${requests.length} accounts`;
      return {
        id: `${name}.${at + 1}`,
        description: `Export ${name} of ${accounts}`,
        schedule,
        input: { ...joinRequests(requests, maxAccounts), run: runName(name, place) },
      };
    }),
  );
}

/** The runs that must be ready at a time of day: one check for all that are due and start together. */
export function runsToCheck(exports: readonly ConfiguredExport[]): ScheduledRun[] {
  const all = sharedRuns(exports).flatMap(({ name, place, schedule, ready_by, tell, requests }) => {
    if (ready_by === undefined) return [];
    const { expression, enabled, time_zone } = schedule;
    const check = { export: name, ready_by, time_zone, tell: tell === 'always', expression };
    const alike = JSON.stringify([place, enabled, check]);
    return [{ alike, name, schedule, ready_by, check, input: joinRequests(requests, 1) }];
  });
  const checks = [...Map.groupBy(all, ({ alike }) => alike).values()].flatMap((runs) =>
    splitBySize(runs, ({ input }) => input),
  );
  return [...Map.groupBy(checks, ([{ name }]) => name)].flatMap(([name, ofName]) =>
    ofName.map((runs, at) => {
      const [{ schedule, ready_by, check }] = runs;
      const whenDue = { ...schedule, expression: checkExpression(schedule.expression, ready_by) };
      const input = { ...check, requests: runs.map((run) => run.input) };
      const id = `${name}.${at + 1}`;
      return { id: `ready.${id}`, description: `Check of ${id}`, schedule: whenDue, input };
    }),
  );
}

function splitBySize<T>(all: readonly T[], partOf: (item: T) => unknown): [T, ...T[]][] {
  const groups: [T, ...T[]][] = [];
  let bytes = 0;
  for (const item of all) {
    const size = Buffer.byteLength(JSON.stringify(partOf(item)));
    const group = groups.at(-1);
    bytes += size;
    if (group && bytes <= MAX_FACTS_BYTES) group.push(item);
    else {
      groups.push([item]);
      bytes = size;
    }
  }
  return groups;
}
