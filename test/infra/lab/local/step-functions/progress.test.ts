import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  CopyFailed,
  PlatformUnavailable,
  RequestRefused,
  TokenRefused,
} from '../../../../../functions/workflow/errors.ts';
import { scaledClock } from '../../../../../infra/lab/local/clock.ts';
import type { LocalRun } from '../../../../../infra/lab/local/local-run.ts';
import type { HistoryEvent } from '../../../../../infra/lab/local/step-functions/history.ts';
import { type Screen, showProgress } from '../../../../../infra/lab/local/step-functions/progress.ts';
import type { Execution } from '../../../../../infra/lab/local/step-functions/step-functions.ts';

const WINDOW = {
  request: { kind: 'report', account: 'acme', name: 'daily', format: 'JSON' },
  window: { start_date: '2026-10-01', end_date: '2026-11-15' },
  reports: [{ id: 'r' }],
  wait_seconds: 10,
};

function at(seconds: number): string {
  return new Date(Date.UTC(2026, 10, 21, 6) + seconds * 1000).toISOString();
}

const PLAN = { time: at(0), state: 'PlanExport', stateType: 'Task', input: {} };
const planned = (output: object): HistoryEvent[] => [
  { ...PLAN, type: 'StateEntered' },
  { ...PLAN, type: 'StateExited', output },
];
const entered = (seconds: number, state: string): HistoryEvent => ({
  type: 'StateEntered',
  time: at(seconds),
  state,
  stateType: state === 'WaitForReport' ? 'Wait' : 'Task',
  window: 0,
  input: WINDOW,
});
const ended = (output: object): HistoryEvent => ({
  type: 'MapIterationSucceeded',
  time: at(9),
  window: 0,
  output,
});
const failed = (state: string, { name, message }: Error): HistoryEvent => ({
  ...entered(2, state),
  type: 'StateFailed',
  error: name,
  cause: JSON.stringify({ errorType: name, errorMessage: message }),
});

/** Everything that is written to a screen while these events happen, 76 s after the plan. */
async function written(
  events: readonly HistoryEvent[],
  screen: Partial<Screen> = {},
  accounts: Readonly<Record<string, readonly HistoryEvent[]>> = {},
): Promise<string[]> {
  const writes: string[] = [];
  const executionOf = (name: string, its: readonly HistoryEvent[]) => {
    const listen: Execution['listen'] = (callback) => its.forEach(callback);
    return { name, listen, result: Promise.resolve({}) } as unknown as Execution;
  };
  const onStart: LocalRun['onStart'] = (listen) => {
    for (const [account, its] of Object.entries(accounts)) listen(executionOf(account, its), { account });
  };
  const clock = { ...scaledClock(1), now: () => Date.parse(at(76)) };
  const write = (text: string | Uint8Array) => writes.push(String(text)) > 0;
  await showProgress(executionOf('drawn', events), { clock, onStart }, { ...screen, write });
  return writes;
}

/** The lines about the window, without time and days. */
async function linesOf(...events: HistoryEvent[]): Promise<string[]> {
  const lines = await written(events);
  return lines.map((line) => line.trimEnd().replace(/^.*? to 2026-11-14 {2}/, ''));
}

test('an export of several accounts shows the account with each window', async () => {
  const accounts = { acme: [entered(2, 'SaveReport')], globex: [entered(3, 'WaitForReport')] };
  const lines = await written(planned({ accounts: [{}, {}] }), {}, accounts);
  expect(lines.map((line) => line.replace(/^\S+ /, '').trimEnd())).toEqual(
    expect.arrayContaining([
      'export  PlanExport',
      expect.stringMatching(/^acme {2}.* to 2026-11-14 {2}SaveReport$/),
      expect.stringMatching(/^globex {2}.* to 2026-11-14 {2}WaitForReport$/),
    ]),
  );
});

describe('without a terminal', () => {
  const NO_HOST = new PlatformUnavailable('No answer.', { code: 'ENOTFOUND', host: 'api.example.com' });
  const CUT = new CopyFailed('The download broke off (ECONNRESET).', { bytes: 5 });

  test.each<[string, HistoryEvent[], string[]]>([
    [
      'a failure is shown until the window continues',
      [
        entered(1, 'SaveReport'),
        ...[NO_HOST, CUT].map((error) => failed('SaveReport', error)),
        entered(3, 'SaveReport'),
      ],
      [
        'SaveReport',
        'SaveReport: PlatformUnavailable (ENOTFOUND api.example.com)',
        'SaveReport: CopyFailed',
        'SaveReport',
      ],
    ],
    [
      'a refused token that is renewed is no failure',
      [
        entered(1, 'WaitForReport'),
        failed('CheckReport', new TokenRefused('401.')),
        entered(3, 'RenewToken'),
      ],
      ['WaitForReport', 'RenewToken'],
    ],
    [
      'a status is shown, and how the window ended',
      [
        failed('CreateReport', new RequestRefused('No.', { status: 422 })),
        ended({ outcome: 'failed', failure: { error: 'RequestRefused' } }),
        entered(4, 'PublishWindow'),
        ended({ outcome: 'delivered', bytes: 1234 }),
      ],
      ['CreateReport: RequestRefused (422)', 'failed: RequestRefused', 'PublishWindow', 'delivered, 1.23 kB'],
    ],
    [
      "the platform's total has a name of its own",
      [
        {
          ...entered(1, 'CreateReport'),
          input: { ...WINDOW, window: { ...WINDOW.window, content: 'total' } },
        },
      ],
      [expect.stringMatching(/ to 2026-11-14, total {2}CreateReport$/)],
    ],
    ['an account has a progress of its own', [{ ...entered(1, 'ExportAccount'), input: {} }, ended({})], []],
  ])('%s', async (_, events, lines) => {
    expect(await linesOf(...events)).toEqual(lines);
  });
});

test('a terminal shows the windows that run and those that failed, and never clears what is below', async () => {
  const lost: HistoryEvent = { type: 'MapIterationFailed', time: at(9), window: 1, error: 'Killed' };
  const map = { ...PLAN, type: 'StateEntered', state: 'ExportWindows', stateType: 'Map' } as const;
  const windows = [entered(1, 'SaveReport'), { ...entered(2, 'CreateReport'), window: 1 }, lost];
  const events = [...planned({ windows: [{}, {}] }), map, ...windows];
  const drawn = (await written(events, { isTTY: true, columns: 80, rows: 24 })).join('');
  expect(stripVTControlCharacters(drawn).trimEnd().split('\n')).toEqual([
    '2026-10-01 to 2026-11-14  SaveReport, 1m 15s',
    '2026-10-01 to 2026-11-14  failed: Killed',
    '1 of 2 windows done',
  ]);
  expect(drawn).not.toContain('\x1b[0J');
});
