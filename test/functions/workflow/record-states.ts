import { mkdir, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Fault } from '../../../infra/sandbox/faults/fault.ts';
import type * as Support from '../../support/workflow.ts';
import type { Ended, Workflow } from '../../support/workflow.ts';

// npm run record-states -- RELEASE [CHECKOUT]
//
// Runs exports with and without faults, and writes the inputs of their steps to recorded-states/RELEASE.jsonl. With the
// path of a checkout, its workflow runs instead of this one.

const FOLDER = new URL('./recorded-states/', import.meta.url);
const MiB = 1024 * 1024;

const [release, checkout = ''] = process.argv.slice(2);
if (!release) throw new Error('Usage: npm run record-states -- RELEASE [CHECKOUT]');

const support = pathToFileURL(resolve(checkout, 'test/support/workflow.ts')).href;
const { follow, startWorkflow } = (await import(support)) as typeof Support;

/** One input of each state and shape, as lines of JSON. */
const recorded = new Map<string, string>();

await using workflow: Workflow = await startWorkflow({
  speed: 100,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
  // SaveReport stops a minute before its timeout, so a download that stalls takes a second call after 3 s.
  functionSeconds: { SaveReport: 63 },
});

type Request = Readonly<Record<string, unknown>>;

const { account, advertiser_ids } = workflow.request() as { account: string; advertiser_ids: string[] };
const week = { start_date: '2026-10-01', end_date: '2026-10-08' };
const twoWindows = { start_date: '2026-01-01', end_date: '2026-03-01', max_parallel: 1 };
const report = (name: string, fields: object = week) => ({
  ...{ name, account, kind: 'report', advertiser_ids, metrics: ['spend'] },
  ...fields,
});
const stalls = `storage stall_after=${20 * MiB}`;

// First, while no token is cached.
await record(report('credential'), ['token status=401 times=always']);
await record(report('troubled', twoWindows), [
  'create reset=after',
  'report status=401',
  'report nth=2 status=429 retry_after=10',
  'report nth=3 omit=download_url',
  'storage status=403 times=2',
]);
await record(report('troubled', { ...twoWindows, only_missing: true }));
await record(report('refused', twoWindows), ['create nth=2 status=422']);
await record(report('invalid', { ...week, end_date: 'never' }));
await record({ name: 'purchases', account, kind: 'purchases', advertiser_id: advertiser_ids[0], ...week }, [
  'purchases status=429 retry_after=10',
]);
await record({ name: 'list', account, kind: 'list', resource: 'campaigns' }, ['list status=401']);
await record(report('zipped'), ['storage gzip=right']);
// A day's values change, and then the catalog refuses.
for (const spend of [1, 2]) await record(report('restated'), [serve({ date: week.start_date, spend })]);
workflow.glue.faults.push({ operation: 'GetTable', answer: 'AccessDeniedException' });
await record(report('not-in-table'));
// The first window cannot be stored, and another execution adopts its report.
workflow.s3.faults.push({ operation: 'PutObject', key: '/report.json', answer: 'AccessDenied' });
await record(report('adopted', twoWindows), [], 'adopted');
await record(report('adopted', { ...twoWindows, only_missing: true }), [], 'resume-adopted');
workflow.sandbox.options.report = { ...workflow.sandbox.options.report, bytes: 40 * MiB };
await record(report('long'), [stalls]);
await record(report('long-failed'), [stalls, 'report nth=3 status=403']);

await mkdir(FOLDER, { recursive: true });
const lines = [...recorded.values()].sort();
await writeFile(new URL(`${release}.jsonl`, FOLDER), lines.map((line) => `${line}\n`).join(''));

/** The storage host serves this row. */
function serve(row: object): Fault {
  return { on: 'storage', body: JSON.stringify([row]) };
}

async function record(
  request: Request,
  faults: readonly (string | Fault)[] = [],
  execution?: string,
): Promise<void> {
  workflow.sandbox.faults.clear();
  for (const fault of faults) workflow.sandbox.faults.add(fault);
  const ended: Ended = await follow(workflow.export(request, execution));
  console.log(`${request.name}: ${ended.status} ${ended.error ?? ''}`);
  for (const { type, stateType, state = '', input } of ended.events) {
    if (type !== 'StateEntered' || stateType !== 'Task' || state.startsWith('Announce')) continue;
    const shape = `${state} ${shapeOf(input)}`;
    if (!recorded.has(shape)) recorded.set(shape, JSON.stringify({ state, input: shortened(input) }));
  }
}

/** Two entries of a timeline are enough. */
function shortened(input: unknown): unknown {
  const shorten = (name: string, value: unknown) =>
    name === 'timeline' && Array.isArray(value) ? value.slice(0, 2) : value;
  return JSON.parse(JSON.stringify(input, shorten));
}

/** The names of all members, at any depth, with the type of each value. Statuses and outcomes count as types. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].sort()}]`;
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const members = Object.entries(value).map(([name, inner]) =>
    name === 'timeline' ? name : `${name}:${['status', 'Error'].includes(name) ? inner : shapeOf(inner)}`,
  );
  return `{${members.sort()}}`;
}
