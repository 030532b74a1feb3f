import { expect, it } from 'vitest';
import type { ExecutionEvent } from '../../../../infra/cli/executions/executions.ts';
import { describeTimeline } from '../../../../infra/cli/executions/timeline.ts';

const WINDOWS = [
  { start_date: '2026-10-01', end_date: '2026-11-15' },
  { start_date: '2026-11-15', end_date: '2026-12-01' },
];

/** @param second after 06:00 */
function event(second: number, type: string, state: string, fields: Partial<ExecutionEvent> = {}) {
  const time = new Date(Date.UTC(2026, 10, 21, 6, 0, second, 123)).toISOString();
  return { time, type, state, stateType: 'Task', ...fields };
}

function failure(requestId: string): Partial<ExecutionEvent> {
  const errorMessage = `No.\n{"request_id":"${requestId}"}`;
  return { error: 'PlatformUnavailable', cause: JSON.stringify({ errorMessage }) };
}

const PLANNED = event(1, 'StateExited', 'PlanExport', { output: { windows: WINDOWS } });

it('shows the export and its first window that was not delivered, with polls and failures in a row on one line', () => {
  const window = 1;
  const events = [
    event(0, 'StateEntered', 'PlanExport'),
    PLANNED,
    event(1, 'StateEntered', 'ExportWindows', { stateType: 'Map' }),
    event(2, 'StateEntered', 'CreateReport', { window: 0 }),
    event(9, 'MapIterationSucceeded', 'ExportWindows', { window: 0, output: { outcome: 'delivered' } }),
    event(40, 'StateEntered', 'PublishExport'),
    event(3, 'StateEntered', 'CreateReport', { window }),
    event(4, 'StateEntered', 'WaitForReport', { window, stateType: 'Wait' }),
    event(14, 'StateEntered', 'CheckReport', { window }),
    event(15, 'StateEntered', 'WaitForReport', { window, stateType: 'Wait' }),
    event(25, 'StateEntered', 'CheckReport', { window }),
    event(26, 'StateFailed', 'CheckReport', { window, ...failure('req-1') }),
    event(27, 'StateRetried', 'CheckReport', { window }),
    event(37, 'StateFailed', 'CheckReport', { window, ...failure('req-2') }),
  ];
  expect(describeTimeline(events)).toEqual([
    'Timeline (UTC) of the export and its window 2026-11-15 to 2026-11-30:',
    '  2026-11-21 06:00:00  PlanExport',
    '  2026-11-21 06:00:03  CreateReport',
    '  2026-11-21 06:00:14  CheckReport, 2 times until 2026-11-21 06:00:25',
    '  2026-11-21 06:00:26  CheckReport failed: PlatformUnavailable, request_id req-2, 2 times until 2026-11-21 06:00:37',
    '  2026-11-21 06:00:40  PublishExport',
  ]);
});

it('says what was answered about a report, and the last request_id', () => {
  const poll = (second: number, said: string, request_id: string) => {
    const output = { reports: [{ id: 'r', last_answer: { said, request_id } }] };
    return [
      event(second, 'StateEntered', 'CheckReport'),
      event(second + 1, 'StateExited', 'CheckReport', { output }),
      event(second + 1, 'StateEntered', 'WaitForReport', { stateType: 'Wait' }),
    ];
  };
  const events = [...poll(10, 'is PROCESSING', 'a'), ...poll(20, 'is PROCESSING', 'b')];
  expect(describeTimeline([...events, ...poll(30, 'does not exist (404)', 'c')]).slice(1)).toEqual([
    '  2026-11-21 06:00:10  CheckReport: the report is PROCESSING, request_id b, 2 times until 2026-11-21 06:00:20',
    '  2026-11-21 06:00:30  CheckReport: the report does not exist (404), request_id c',
  ]);
});

it('leaves out the middle of a long one', () => {
  const names = Array.from({ length: 100 }, (_, at) => `Step${at}`);
  const lines = describeTimeline(names.map((name, at) => event(at, 'StateEntered', name)));
  expect(lines).toHaveLength(32);
  expect(lines[0]).toBe('Timeline (UTC) of the export:');
  expect(lines[13]).toBe('  … 70 more');
  expect(lines.at(-1)).toContain('Step99');
});
