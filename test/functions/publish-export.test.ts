import { describe, expect, it } from 'vitest';
import { bytesOf } from '../../functions/decisions/warnings.ts';
import { publishExport } from '../../functions/publish-export.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { DeliveredWindow } from '../../functions/workflow/states.ts';
import { windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const NOW = new Date('2026-11-21T06:30:00.000Z');
const RUNS = 'exports/account=acme/export=daily/_runs/';
const plan = {
  execution: 'e',
  started_at: '2026-11-21T06:00:00.000Z',
  request,
  warnings: ['w'],
  windows: ['2026-10-01', '2026-10-02'].map(windowFrom),
};

function windowFrom(start_date: string) {
  return { start_date, end_date: '2026-11-02' };
}

function delivered(start: string, rows?: number): DeliveredWindow {
  return {
    outcome: 'delivered',
    window: windowFrom(start),
    report_id: 'r',
    bytes: 10,
    key: `${start}/report.json`,
    manifest_key: `${start}/_manifest.json`,
    ...(rows !== undefined && { rows }),
  };
}

const failed = {
  outcome: 'failed',
  window: windowFrom('2026-10-02'),
  failure: { error: 'RequestRefused', happened: 'x', todo: 'y', report_ids: [], request_ids: [] },
};

/** The other fields of the result of `startExecution.sync:2`, as long as they may be. */
const EXECUTION = {
  ExecutionArn: `arn:aws:states:ap-southeast-1:123456789012:execution:${'m'.repeat(80)}:${'e'.repeat(80)}`,
  InputDetails: { Included: true },
  Name: 'e'.repeat(80),
  OutputDetails: { Included: true },
  RedriveCount: 0,
  RedriveStatus: 'NOT_REDRIVABLE',
  RedriveStatusReason: 'Execution is SUCCEEDED and cannot be redriven',
  StartDate: 1_795_000_000_000,
  StateMachineArn: `arn:aws:states:ap-southeast-1:123456789012:stateMachine:${'m'.repeat(80)}`,
  Status: 'SUCCEEDED',
  StopDate: 1_795_000_000_000,
};

/** The object of a run, by its key. */
function run(execution: string, changes: object = {}) {
  const began_at = plan.started_at;
  const text = JSON.stringify({
    version: '1',
    execution,
    began_at,
    request,
    windows: plan.windows,
    ...changes,
  });
  return [`${RUNS}${execution}.json`, text] as const;
}

/** Publishes an export with these results, and returns the runs that were removed. */
async function publish(
  results: readonly unknown[] | undefined,
  changes: object = {},
  runs: readonly (readonly [string, string])[] = [run('e')],
) {
  const texts = new Map(runs);
  const removed: string[] = [];
  const store = {
    bucket: 'b',
    list: async () => [...texts.keys()],
    getText: async (key: string) => texts.get(key),
    readEnd: async () => undefined,
    remove: async (key: string) => void removed.push(key.slice(RUNS.length, -'.json'.length)),
  };
  const state = { ...plan, ...(results && { results: [...results] }), ...changes };
  const publishing = publishExport(state, { store, now: () => NOW, program: 'npm run export --' });
  return { result: await publishing.catch((error) => error), removed };
}

describe('PublishExport', () => {
  it('gives 100 windows a result that an export of several accounts can take, with 10 KB to spare', async () => {
    const fields = { ...delivered('2026-10-01', 123_456_789), report_id: 'r'.repeat(256) };
    // A window has at most 1,700 bytes besides its warnings; see PublishWindow.
    const key = 'k'.repeat(1_700 - bytesOf(fields));
    const results = Array.from({ length: 100 }, (_, at) => ({
      ...fields,
      window: windowFrom(`${1900 + at}-10-02`),
      key: fields.key + key,
      warnings: Array.from({ length: 7 }, (_, number) => `${at} ${number} ${'w'.repeat(90)}`),
    }));
    const windows = results.map(({ window }) => window);
    const { result } = await publish(results, { windows });
    expect(result.windows).toHaveLength(100);
    expect(bytesOf(result)).toBeGreaterThan(200_000);
    // Step Functions gives the execution that waits the input and the output of the one of the account.
    const described = { ...EXECUTION, Input: 'i'.repeat(MAX_REQUEST_BYTES), Output: result };
    expect(bytesOf(described)).toBeLessThan(256 * 1024 - 10_000);
  });

  it('54: names newcomers, and the command that exports the days before with them', async () => {
    const history = { start_date: '2025-01-01', end_date: '2026-10-01' };
    const newcomers = { count: 1, advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'], history };
    const advertisers = { key: 'k', count: 4 };
    const command = 'npm run export -- run daily --account acme --from 2025-01-01 --to 2026-10-01';
    const results = [delivered('2026-10-01'), delivered('2026-10-02')];
    const { result } = await publish(results, { advertisers, newcomers });
    expect(result.newcomers).toEqual({ ...newcomers, command });
    const { result: without } = await publish(results, { advertisers });
    expect(without).not.toHaveProperty('newcomers');
  });

  it('sums up the delivered windows and removes the plan', async () => {
    const results = [delivered('2026-10-01', 4), delivered('2026-10-02', 0)];
    const { result, removed } = await publish(results, { already_delivered: 5 });
    expect(result).toEqual({
      version: '1',
      execution: 'e',
      account: 'acme',
      name: 'daily',
      kind: 'report',
      start_date: '2026-11-01',
      end_date: '2026-11-02',
      bucket: 'b',
      windows: results.map(({ outcome, ...window }) => window),
      already_delivered: 5,
      bytes: 20,
      rows: 4,
      empty: false,
      warnings: ['w'],
    });
    expect(removed).toEqual(['e']);
  });

  it('sums up the days that its windows restated and held, and shows each warning once', async () => {
    const held = { held: 3, first_held: '2026-10-02', last_held: '2026-10-09' };
    const some = { restated: 2, first_restated: '2026-10-05', last_restated: '2026-10-07', held: 0 };
    const single = { restated: 1, first_restated: '2026-10-01', last_restated: '2026-10-01' };
    const { result } = await publish([
      { ...delivered('2026-10-01'), ...some, warnings: ['w', 'of a window'] },
      { ...delivered('2026-10-02'), ...single, ...held, warnings: ['of a window'] },
    ]);
    const restated = { restated: 3, first_restated: '2026-10-01', last_restated: '2026-10-07' };
    expect(result).toMatchObject({ ...restated, ...held, warnings: ['w', 'of a window'] });
    expect(result.windows[0]).not.toHaveProperty('warnings');
    expect((await publish([delivered('2026-10-01'), delivered('2026-10-02')])).result).not.toHaveProperty(
      'restated',
    );
  });

  it.each<[string, (number | undefined)[], number | undefined, object]>([
    ['23: empty if no window has a row', [0, 0], undefined, { rows: 0, empty: true }],
    ['23: empty if nothing was delivered earlier', [0, 0], 0, { rows: 0, empty: true }],
    ['23: not called empty if windows were delivered earlier', [0, 0], 1, { rows: 0 }],
    ['of unknown rows if those of one window are unknown', [3, undefined], undefined, {}],
  ])('is %s', async (_, [first, second], already_delivered, expected) => {
    const results = [delivered('2026-10-01', first), delivered('2026-10-02', second)];
    const { result } = await publish(results, already_delivered === undefined ? {} : { already_delivered });
    const { rows, empty } = result;
    expect(JSON.parse(JSON.stringify({ rows, empty }))).toEqual(expected);
  });

  it.each([
    ['its own run alone', [run('e'), run('other')], ['e']],
    [
      'the runs before it of the same run of the config',
      [run('e', { run: 'daily#1' }), run('yesterday', { run: 'daily#1', began_at: '2026-11-20T06:00:00Z' })],
      ['yesterday', 'e'],
    ],
    [
      'no later one, and none of another run of the config',
      [
        run('e', { run: 'daily#1' }),
        run('later', { run: 'daily#1', began_at: '2026-11-21T07:00:00Z' }),
        run('weekly', { run: 'daily#2', began_at: '2026-11-20T06:00:00Z' }),
      ],
      ['e'],
    ],
    [
      'a run that nobody will finish',
      [run('e'), run('old', { began_at: '2026-10-01T06:00:00Z' })],
      ['old', 'e'],
    ],
  ])('removes %s', async (_, runs, expected) => {
    const { removed } = await publish([delivered('2026-10-01'), delivered('2026-10-02')], {}, runs);
    expect(removed).toEqual(expected);
  });

  it('leaves out the number of rows if no window was missing', async () => {
    const { result, removed } = await publish(undefined, { windows: [], already_delivered: 2 });
    expect(result).toMatchObject({ windows: [], already_delivered: 2, bytes: 0 });
    const { rows, empty } = result;
    expect({ rows, empty }).toEqual({ rows: undefined, empty: undefined });
    expect(removed).toEqual(['e']);
  });

  it.each([
    ['a failure', [failed]],
    ['nothing', []],
  ])('fails if a window’s execution returned %s', async (_, results) => {
    const { result, removed } = await publish([delivered('2026-10-01'), ...results]);
    expect(result).toMatchObject({
      name: 'ExportIncomplete',
      message: expect.stringContaining('1 of 2 windows was not delivered.'),
    });
    expect(removed).toEqual([]);
  });
});
