import { describe, expect, it } from 'vitest';
import {
  daysToRenew,
  isForgotten,
  type Run,
  readRuns,
  runningExecution,
} from '../../../functions/days/runs.ts';
import { runKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { createBucket } from '../../support/manifests.ts';
import { windowOf } from '../../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const BEGAN = '2026-10-10T06:00:00.000Z';
const window = { start_date: '2026-10-01', end_date: '2026-10-04' };

function run(changes: Partial<Run> = {}): Run {
  return { version: '1', execution: 'e', began_at: BEGAN, request, windows: [window], ...changes };
}

describe('readRuns', () => {
  it('reads the runs of an export, the oldest first, and names the damaged ones', async () => {
    const { store, texts } = createBucket();
    const later = run({ execution: 'later', began_at: '2026-10-11T06:00:00.000Z' });
    texts.set(runKey(request, 'later'), JSON.stringify(later));
    texts.set(runKey(request, 'x'), JSON.stringify(run({ execution: 'x' })));
    texts.set(runKey(request, 'torn'), '{"version": "1"');
    texts.set(runKey(request, 'foreign'), JSON.stringify(run({ execution: 'another' })));
    for (const difference of [{ account: 'other' }, { name: 'other' }]) {
      const [execution = ''] = Object.keys(difference);
      const asked = { ...request, ...difference };
      texts.set(runKey(request, execution), JSON.stringify(run({ execution, request: asked })));
    }
    texts.set(runKey(request, 'untrue'), JSON.stringify(run({ execution: 'untrue', began_at: 'yesterday' })));
    const { records, damaged } = await readRuns(store, request, new Date('2026-10-12T00:00:00Z'));
    expect(records.map(({ execution }) => execution)).toEqual(['x', 'later']);
    expect(damaged).toEqual(
      ['account', 'foreign', 'name', 'torn', 'untrue'].map((name) => runKey(request, name)),
    );
  });
});

describe('the days that a run still has to renew', () => {
  const report = { report_id: 'r', request_hash: 'h', created_at: BEGAN };
  it.each([
    ['all, if nothing was delivered', [], ['2026-10-01', '2026-10-02', '2026-10-03']],
    [
      'all, if reports are older than the run',
      [{ ...window, ...report, created_at: '2026-10-09T00:00:00Z' }],
      ['2026-10-01', '2026-10-02', '2026-10-03'],
    ],
    [
      'the ones that no report since then has',
      [{ ...window, ...report, end_date: '2026-10-02' }],
      ['2026-10-02', '2026-10-03'],
    ],
    ['none, whichever windows brought them', [{ ...window, ...report, start_date: '2026-09-20' }], []],
    [
      'all, if the file of the report is another one',
      [{ ...window, ...report, lost: true as const }],
      ['2026-10-01', '2026-10-02', '2026-10-03'],
    ],
  ])('are %s', (_, deliveries, days) => {
    expect(daysToRenew(run(), deliveries)).toEqual(days);
  });

  it('are in their order, and have the start of a window without days', () => {
    const windows = [
      { start_date: '2026-10-09', end_date: '2026-10-09' },
      { start_date: '2026-10-03', end_date: '2026-10-05' },
    ];
    expect(daysToRenew(run({ windows }), [])).toEqual(['2026-10-03', '2026-10-04', '2026-10-09']);
  });

  it('are none of a list once there is any later snapshot', () => {
    const list = { ...request, kind: 'list', resource: 'campaigns' } as unknown as ExportRequest;
    const later = { start_date: '2026-10-12', end_date: '2026-10-13', ...report };
    expect(daysToRenew(run({ request: list }), [later])).toEqual([]);
    const earlier = { ...later, created_at: '2026-10-09T00:00:00Z' };
    expect(daysToRenew(run({ request: list }), [earlier])).toHaveLength(3);
  });
});

it.each([
  ['its own execution', ['e', 'parent'], 'e'],
  ['the one of several accounts, which is to start it', ['parent'], 'parent'],
  ['neither', ['other'], undefined],
])('a run is run by %s', (_, running, execution) => {
  expect(runningExecution(run({ parent: 'parent' }), running)).toBe(execution);
});

it.each([
  ['2026-11-10T00:00:00Z', false],
  ['2026-11-11T01:00:00Z', true],
])('nobody finishes a run 31 days later: %s', (now, isOld) => {
  expect(isForgotten(run(), new Date(now))).toBe(isOld);
});
