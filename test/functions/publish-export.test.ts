import { describe, expect, it } from 'vitest';
import { bytesOf } from '../../functions/decisions/warnings.ts';
import { publishExport } from '../../functions/publish-export.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { DeliveredWindow } from '../../functions/workflow/states.ts';
import { windowOf } from '../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const PLAN_KEY = 'exports/account=acme/export=daily/_plans/2026-11-01_2026-11-02.json';
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

/** Publishes an export with these results, and returns the keys that were deleted. */
async function publish(results: readonly unknown[] | undefined, changes: object = {}) {
  const removed: string[] = [];
  const remove = async (key: string) => void removed.push(key);
  const store = { bucket: 'b', readEnd: async () => undefined, remove };
  const state = { ...plan, ...(results && { results: [...results] }), ...changes };
  return {
    result: await publishExport(state, { store, program: 'npm run export --' }).catch((error) => error),
    removed,
  };
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
      warnings: Array.from({ length: 7 }, (_, other) => `${at} ${other} ${'w'.repeat(90)}`),
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
    expect(removed).toEqual([PLAN_KEY]);
  });

  it('sums up the days that its windows restated and held, and shows each warning once', async () => {
    const held = { held: 3, first_held: '2026-10-02', last_held: '2026-10-09' };
    const some = { restated: 2, first_restated: '2026-10-05', last_restated: '2026-10-07', held: 0 };
    const one = { restated: 1, first_restated: '2026-10-01', last_restated: '2026-10-01' };
    const { result } = await publish([
      { ...delivered('2026-10-01'), ...some, warnings: ['w', 'of a window'] },
      { ...delivered('2026-10-02'), ...one, ...held, warnings: ['of a window'] },
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

  it('leaves out the number of rows if no window was missing', async () => {
    const { result, removed } = await publish(undefined, { windows: [], already_delivered: 2 });
    expect(result).toMatchObject({ windows: [], already_delivered: 2, bytes: 0 });
    expect([result.rows, result.empty, removed]).toEqual([undefined, undefined, [PLAN_KEY]]);
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
