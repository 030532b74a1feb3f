import { describe, expect, test } from 'vitest';
import { scaledClock } from '../../../infra/local/clock.ts';
import type { HistoryEvent } from '../../../infra/local/history.ts';
import { advance, type Progress } from '../../../infra/local/progress.ts';
import { type Screen, showProgress } from '../../../infra/local/show-progress.ts';
import type { Execution } from '../../../infra/local/step-functions.ts';
import { startWorkflow } from '../../support/workflow.ts';

const REQUEST = { kind: 'report', account: 'acme', name: 'daily', format: 'JSON' };
const WINDOWS = [
  { start_date: '2026-10-01', end_date: '2026-11-15' },
  { start_date: '2026-11-15', end_date: '2026-11-20' },
];
const KEY = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-11-15/report.json';

function at(seconds: number): string {
  return new Date(Date.UTC(2026, 10, 21, 6) + seconds * 1000).toISOString();
}

const PLANNED: HistoryEvent = {
  type: 'StateExited',
  time: at(0),
  state: 'PlanExport',
  output: { request: REQUEST, windows: WINDOWS },
};
const entered = (seconds: number, state: string): HistoryEvent => ({
  type: 'StateEntered',
  time: at(seconds),
  state,
  window: 0,
});

/** What the first window does after each of the events. */
function doing(...events: HistoryEvent[]): (string | undefined)[] {
  let progress: Progress = new Map();
  return events.map((event) => {
    progress = advance(progress, event);
    return progress.get(0)?.doing;
  });
}

describe('advance', () => {
  test('knows every window from the plan on', () => {
    const progress = advance(new Map(), PLANNED);
    expect([...progress.values()].map(({ window, doing }) => [window, doing])).toEqual(
      WINDOWS.map((window) => [window, 'waits its turn']),
    );
    expect(progress.get(0)?.key).toBe(KEY);
  });

  test('a check of the report does not interrupt the wait, which keeps its start time', () => {
    const events = [entered(1, 'WaitForReport'), entered(11, 'CheckReport'), entered(12, 'WaitForReport')];
    const progress = [PLANNED, ...events].reduce(advance, new Map());
    expect(progress.get(0)).toMatchObject({ doing: 'waits for the report', since: Date.parse(at(1)) });
    expect(progress.get(1)?.doing).toBe('waits its turn');
  });

  test('an event that says nothing new changes nothing', () => {
    const progress = [PLANNED, entered(1, 'WaitForReport')].reduce(advance, new Map());
    expect(advance(progress, entered(2, 'CheckReport'))).toBe(progress);
    expect(advance(progress, entered(2, 'WhatNext'))).toBe(progress);
  });

  test('a failure is shown until the window continues', () => {
    const failed: HistoryEvent = {
      ...entered(2, 'CheckReport'),
      type: 'StateFailed',
      error: 'PlatformUnavailable',
    };
    const progress = [PLANNED, entered(1, 'CheckReport'), failed].reduce(advance, new Map());
    expect(progress.get(0)?.trouble).toBe('PlatformUnavailable in CheckReport');
    expect(advance(progress, entered(3, 'SaveReport')).get(0)?.trouble).toBeUndefined();
  });

  test('a window ends as it says', () => {
    const ended = (outcome: string): HistoryEvent => ({
      type: 'MapIterationSucceeded',
      time: at(9),
      state: 'ExportWindows',
      window: 0,
      output: { outcome },
    });
    expect(doing(PLANNED, entered(1, 'SaveReport'), ended('delivered'))).toEqual([
      'waits its turn',
      'copies the file',
      'delivered',
    ]);
    expect(doing(PLANNED, ended('failed'))).toEqual(['waits its turn', 'failed']);
  });
});

function recorder(isTTY: boolean): Screen & { text: string } {
  return {
    text: '',
    isTTY,
    write(text) {
      this.text += text;
    },
  };
}

describe('showProgress', () => {
  test('writes a line for each change if there is no terminal', async () => {
    const workflow = await startWorkflow();
    await using _ = workflow;
    const execution = workflow.export(workflow.request());
    const screen = recorder(false);
    await showProgress(execution, workflow, screen);
    const lines = screen.text.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      '2026-10-01 to 2026-10-08  waits its turn',
      '2026-10-01 to 2026-10-08  gets a token',
      '2026-10-01 to 2026-10-08  creates the report',
      '2026-10-01 to 2026-10-08  waits for the report',
      '2026-10-01 to 2026-10-08  copies the file',
      '2026-10-01 to 2026-10-08  reads the rows',
      '2026-10-01 to 2026-10-08  writes the manifest',
      expect.stringMatching(/^2026-10-01 to 2026-10-08 {2}delivered, \d+ B$/),
    ]);
  });

  test('draws a terminal over and over, never wider than it is', async () => {
    const events = [PLANNED, entered(1, 'SaveReport')];
    const execution: Execution = {
      name: 'drawn',
      events: (async function* () {
        yield* events;
      })(),
      result: Promise.resolve({ status: 'SUCCEEDED' }),
      abort: () => {},
    };
    const clock = { ...scaledClock(1), now: () => Date.parse(at(76)) };
    const arrived = new Map([[KEY, 1_234_567]]);
    const screen = { ...recorder(true), columns: 60 };
    await showProgress(execution, { clock, arrived }, screen);
    expect(screen.text.trimEnd().split('\n')).toEqual([
      '2026-10-01 to 2026-11-15  copies the file, 1 min 15 s, 1.2 ',
      '2026-11-15 to 2026-11-20  waits its turn, 1 min 16 s',
      '0 of 2 windows done',
    ]);
  });
});
