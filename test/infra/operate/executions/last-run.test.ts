import { expect, it } from 'vitest';
import type { ExportRecords } from '../../../../functions/days/records.ts';
import { findLastRun } from '../../../../infra/operate/executions/last-run.ts';

const DAY = { start_date: '2026-11-01', end_date: '2026-11-02' };
const OTHER_DAY = { start_date: '2026-11-02', end_date: '2026-11-03' };
const at = (hour: number) => `2026-12-01T0${hour}:00:00Z`;

/** Records of an export: only the fields that tell its last run. */
const delivered = (hour: number, execution: string, days = DAY) => {
  return { ...days, created_at: at(hour), manifest: { published_at: at(hour), execution } };
};
const failed = (hour: number, execution: string) => ({ at: at(hour), execution, error: 'ReportStuck' });
const left = (hour: number, execution: string, changes: object = {}) => {
  const request = { kind: 'report' };
  return { began_at: at(hour), execution, request, windows: [DAY, OTHER_DAY], ...changes };
};

interface Case {
  readonly deliveries?: readonly object[];
  readonly failures?: readonly object[];
  /** Runs that did not finish, or still run. */
  readonly runs?: readonly object[];
}

it.each<[string, Case, readonly string[], object | undefined]>([
  ['nothing ran', {}, [], undefined],
  [
    'all was delivered',
    { deliveries: [delivered(1, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'delivered', at: at(1) },
  ],
  [
    'it failed after a window was delivered',
    { deliveries: [delivered(1, 'e-1')], failures: [failed(2, 'e-1')], runs: [left(0, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'failed', error: 'ReportStuck', at: at(2) },
  ],
  [
    'a later run delivered what failed',
    { deliveries: [delivered(3, 'e-2')], failures: [failed(2, 'e-1')], runs: [left(0, 'e-1')] },
    [],
    { execution: 'e-2', outcome: 'delivered', at: at(3) },
  ],
  [
    'it was killed after a window was delivered',
    { deliveries: [delivered(1, 'e-1')], runs: [left(0, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'incomplete', at: at(1) },
  ],
  [
    'it resumed another run, whose object it took over, and was killed',
    { deliveries: [delivered(5, 'e-2')], failures: [failed(2, 'e-1')], runs: [left(0, 'e-2')] },
    [],
    { execution: 'e-2', outcome: 'incomplete', at: at(5) },
  ],
  [
    'it was killed before a window was delivered',
    { deliveries: [delivered(1, 'e-1')], runs: [left(2, 'e-2')] },
    [],
    { execution: 'e-2', outcome: 'incomplete', at: at(2) },
  ],
  [
    'another one of the same days runs',
    { deliveries: [delivered(1, 'e-1'), delivered(3, 'e-2')], runs: [left(2, 'e-2')] },
    ['e-2'],
    { execution: 'e-1', outcome: 'delivered', at: at(1) },
  ],
  [
    'its execution of several accounts has not started it yet',
    { deliveries: [delivered(1, 'e-1')], runs: [left(2, 'e-2', { parent: 'all' })] },
    ['all'],
    { execution: 'e-1', outcome: 'delivered', at: at(1) },
  ],
  [
    'a second start left an object of a run that has delivered everything',
    {
      deliveries: [delivered(1, 'e-1'), delivered(2, 'e-1', OTHER_DAY)],
      runs: [left(0, 'e-1', { parent: 'second start' })],
    },
    [],
    { execution: 'e-1', outcome: 'delivered', at: at(2) },
  ],
])('finds the last run of an export: %s', (_, records, running, last) => {
  const all = { deliveries: [], failures: [], runs: [], damaged: [], ...records };
  const lastRun = findLastRun(all as unknown as ExportRecords, running);
  if (last) expect(lastRun).toEqual(last);
  else expect(lastRun).toBeUndefined();
});
