import { expect, it } from 'vitest';
import type { ExportRecords } from '../../../../functions/deliveries/records.ts';
import { findLastRun } from '../../../../infra/knowledge/executions/last-run.ts';

const ASKED = { start_date: '2026-10-01', end_date: '2026-12-01' };
const at = (hour: number) => `2026-12-01T0${hour}:00:00Z`;

/** Records of an export: only the fields that tell its last run. */
const delivered = (hour: number, execution: string) => ({ published_at: at(hour), execution, asked: ASKED });
const failed = (hour: number, execution: string) => ({ at: at(hour), execution, error: 'ReportStuck' });
const planned = (hour: number, execution: string) => ({ started_at: at(hour), execution, ...ASKED });

interface Case {
  readonly deliveries?: readonly object[];
  readonly failures?: readonly object[];
  readonly plans?: readonly object[];
}

it.each<[string, Case, readonly string[], object | undefined]>([
  ['nothing ran', {}, [], undefined],
  [
    'all was delivered',
    { deliveries: [delivered(1, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'delivered' },
  ],
  [
    'it failed after a window was delivered',
    { deliveries: [delivered(1, 'e-1')], failures: [failed(2, 'e-1')], plans: [planned(0, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'failed', error: 'ReportStuck', at: at(2) },
  ],
  [
    'a later run delivered what failed',
    { deliveries: [delivered(3, 'e-2')], failures: [failed(2, 'e-1')] },
    [],
    { execution: 'e-2', outcome: 'delivered' },
  ],
  [
    'it was killed after a window was delivered',
    { deliveries: [delivered(1, 'e-1')], plans: [planned(0, 'e-1')] },
    [],
    { execution: 'e-1', outcome: 'incomplete', at: at(1) },
  ],
  [
    'it continued another run, whose plan stays, and was killed',
    { deliveries: [delivered(5, 'e-2')], failures: [failed(2, 'e-1')], plans: [planned(0, 'e-1')] },
    [],
    { execution: 'e-2', outcome: 'incomplete' },
  ],
  [
    'it was killed before a window was delivered',
    { deliveries: [delivered(1, 'e-1')], plans: [planned(2, 'e-2')] },
    [],
    { execution: 'e-2', outcome: 'incomplete', at: at(2) },
  ],
  [
    'another one of the same days runs',
    { deliveries: [delivered(1, 'e-1'), delivered(3, 'e-2')], plans: [planned(2, 'e-2')] },
    ['e-2'],
    { execution: 'e-1', outcome: 'delivered' },
  ],
])('finds the last run of an export: %s', (_, records, running, last) => {
  const all = { deliveries: [], failures: [], plans: [], oldest: undefined, ...records };
  const found = findLastRun(all as unknown as ExportRecords, running);
  if (last) expect(found).toMatchObject(last);
  else expect(found).toBeUndefined();
});
