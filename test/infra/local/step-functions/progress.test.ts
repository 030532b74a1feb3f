import { describe, expect, test } from 'vitest';
import { CopyFailed, PlatformUnavailable } from '../../../../functions/workflow/errors.ts';
import { scaledClock } from '../../../../infra/local/clock.ts';
import type { HistoryEvent } from '../../../../infra/local/step-functions/history.ts';
import {
  advance,
  type Progress,
  type Screen,
  showProgress,
} from '../../../../infra/local/step-functions/progress.ts';
import type { Execution } from '../../../../infra/local/step-functions/step-functions.ts';
import { setFaults, shareWorkflow } from '../../../support/run-export.ts';
import { forgetTokens } from '../../../support/workflow-secrets.ts';

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
const entered = (seconds: number, state: string, input: object = {}): HistoryEvent => ({
  type: 'StateEntered',
  time: at(seconds),
  state,
  window: 0,
  input,
});

const workflow = await shareWorkflow({ speed: 100 });

function progressAfter(...events: HistoryEvent[]): Progress {
  return events.reduce((progress, event) => advance(progress, event), {
    windows: new Map(),
  } as Progress);
}

function failed(seconds: number, state: string, error: Error, tries = 1): HistoryEvent {
  const cause = JSON.stringify({ errorType: error.name, errorMessage: error.message });
  return { ...entered(seconds, state), type: 'StateFailed', error: error.name, cause, tries };
}

const NO_HOST = new PlatformUnavailable('No answer.', { code: 'ENOTFOUND', host: 'api.platfrom.example' });

describe('advance', () => {
  test('a check of the report does not interrupt the wait, which keeps its start time', () => {
    const events = [entered(1, 'WaitForReport'), entered(11, 'CheckReport'), entered(12, 'WaitForReport')];
    const { windows } = progressAfter(PLANNED, ...events);
    expect(windows.get(0)).toMatchObject({ doing: 'waits for the report', since: Date.parse(at(1)) });
    expect(windows.get(1)?.doing).toBe('waits its turn');
  });

  test('a failure is shown until the window continues', () => {
    const events = [PLANNED, entered(1, 'CheckReport'), failed(2, 'CheckReport', NO_HOST)];
    expect(progressAfter(...events).windows.get(0)?.failures?.last).toBe('ENOTFOUND api.platfrom.example');
    expect(progressAfter(...events, entered(3, 'SaveReport')).windows.get(0)?.failures).toBeUndefined();
    const { window: _, ...failState } = failed(9, 'ExportFailed', NO_HOST);
    const { window: _window, ...announce } = entered(8, 'AnnounceFailure');
    expect(progressAfter(announce, failState).export?.failures).toBeUndefined();
  });

  test('counts the tries of a state that one Retry repeats', () => {
    const events = [2, 13, 34].map((seconds) => failed(seconds, 'CheckReport', NO_HOST, 7));
    const tried = progressAfter(PLANNED, entered(1, 'CheckReport'), ...events);
    expect(tried.windows.get(0)?.failures).toMatchObject({ count: 3, tries: 7 });
    const { windows } = advance(tried, failed(75, 'CheckReport', new CopyFailed('No.'), 5));
    expect(windows.get(0)?.failures).toEqual({ count: 1, tries: 5, last: 'CopyFailed' });
  });
});

/** A screen that records each of its writes. */
function recorder(size?: { columns: number; rows?: number }): Screen & { writes: string[] } {
  const writes: string[] = [];
  return { writes, isTTY: size !== undefined, ...size, write: (text) => writes.push(text) };
}

/** An execution whose history is these events. */
function executionOf(events: readonly HistoryEvent[]): Execution {
  return {
    name: 'drawn',
    events: (async function* () {
      yield* events;
    })(),
    result: Promise.resolve({ status: 'SUCCEEDED' }),
    abort: () => {},
  };
}

/** The lines that stand on a terminal at the end, 76 s after the plan. */
async function drawnLines(events: readonly HistoryEvent[], size: { columns: number; rows?: number }) {
  const screen = recorder(size);
  const clock = { ...scaledClock(1), now: () => Date.parse(at(76)) };
  await showProgress(executionOf(events), { clock, arrived: new Map([[KEY, 1_234_567]]) }, screen);
  return screen.writes.join('').replaceAll('\x1b[K', '').trimEnd().split('\n');
}

test.each([
  ['is PROCESSING', 'waits for the report', 'replaces the report, which is PROCESSING'],
  [
    'does not exist (404)',
    'waits for the report, which does not exist (404)',
    'replaces the report, which does not exist (404)',
  ],
])('says of a report what was answered last: %s', (said, waits, replaces) => {
  const input = { request: REQUEST, reports: [{ id: 'r', last_answer: { said } }] };
  const doing = (...states: string[]) => {
    const events = states.map((state, at) => entered(at, state, input));
    return progressAfter(PLANNED, ...events).windows.get(0);
  };
  expect(doing('WaitForReport', 'CheckReport')).toMatchObject({ doing: waits, since: Date.parse(at(0)) });
  expect(doing('WaitForReport', 'CreateReport')?.doing).toBe(replaces);
});

describe('showProgress', () => {
  const withoutTime = (line: string) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /, '');

  test('7: writes a line for each change without a terminal, and says which try of a state failed', async () => {
    await forgetTokens(workflow);
    setFaults(workflow, { faults: ['token times=2 status=503'] });
    const screen = recorder();
    await showProgress(workflow.export(workflow.request()), workflow, screen);
    const lines = screen.writes.map((line) => withoutTime(line.trimEnd()).split('  '));
    const [range = ''] = lines.map(([name = '']) => name).filter((name) => name !== 'export');
    expect(range).toMatch(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d$/);
    const ofWindow = ['gets a token', 'creates the report', 'waits for the report', 'copies the file'];
    expect(lines).toEqual([
      ['export', 'plans the export'],
      ['export', 'planned, windows: 1'],
      ['export', 'gets a token'],
      ['export', 'gets a token, try 1 of 12 failed: PlatformUnavailable (503)'],
      ['export', 'gets a token, try 2 of 12 failed: PlatformUnavailable (503)'],
      ...[...ofWindow, 'reads the rows', 'writes the manifest'].map((words) => [range, words]),
      [range, expect.stringMatching(/^delivered, [\d.]+ k?B$/)],
      ['export', 'sums up the windows'],
      ['export', 'announces the export'],
    ]);
  });

  test('a failure that is final does not look like one that is tried again', async () => {
    await forgetTokens(workflow);
    setFaults(workflow, { faults: ['create nth=2 status=422'] });
    const screen = recorder();
    const request = { ...workflow.request(), start_date: '2026-09-01', end_date: '2026-10-31' };
    await showProgress(workflow.export(request), workflow, screen);
    const lines = screen.writes.map((line) => withoutTime(line.trimEnd()).replace(/^.*? {2}/, ''));
    expect(lines).toContain('creates the report: refused (422)');
    expect(lines).toContain('sums up the windows: 1 of 2 windows was not delivered');
  });

  test('draws a terminal, never wider than it is', async () => {
    expect(await drawnLines([PLANNED, entered(1, 'SaveReport')], { columns: 60 })).toEqual([
      '2026-10-01 to 2026-11-14  copies the file, 1 min 15 s, 1.2 ',
      '2026-11-15 to 2026-11-19  waits its turn, 1 min 16 s',
      '0 of 2 windows done, 1 running',
    ]);
  });

  test('redraws in place: clears the end of each line, and nothing below', async () => {
    const screen = recorder({ columns: 80 });
    const events = [PLANNED, entered(1, 'CreateReport'), entered(2, 'WaitForReport')];
    let time = Date.parse(at(3));
    const clock = { ...scaledClock(1), now: () => time };
    const drawn = (count: number) => expect.poll(() => screen.writes.length).toBeGreaterThanOrEqual(count);
    const execution = {
      ...executionOf([]),
      events: (async function* () {
        yield* events;
        await drawn(1);
        time += 1000;
        await drawn(2);
      })(),
    };
    await showProgress(execution, { clock, arrived: new Map() }, screen);
    const [first = '', second = ''] = screen.writes;
    expect(first.split('\x1b[K\n')).toHaveLength(4);
    expect(second).toBe(`\r\x1b[3A${first.replace('1 s', '2 s').replace('3 s', '4 s')}`);
    expect(screen.writes.join('')).not.toContain('\x1b[0J');
  });
});
