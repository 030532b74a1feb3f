import { expect, it } from 'vitest';
import { addDays, dateIn } from '../../functions/workflow/request/dates.ts';
import { readTable, wrongDays } from '../random/tables.ts';
import { gapsIn, keysOf, mostAtOnce, recordJournals, startFastWorkflow } from '../support/run-export.ts';
import { follow } from '../support/workflow.ts';

it('29: a schedule, a backfill and a manual run of one export at the same time deliver, with one token', async () => {
  await using workflow = await startFastWorkflow({
    versioned: true,
    sandbox: { report: { secondsToReady: 100 } },
  });
  const now = new Date(workflow.clock.now());
  const today = dateIn('UTC', now);
  const name = 'daily';
  const last = (days: number) => ({ start_date: addDays(today, -days), end_date: today });
  const manual = workflow.request({ name, ...last(14) });
  const { start_date: _, end_date: __, ...dateless } = manual;
  const requests = [
    workflow.request({ name, ...last(120), max_parallel: 2 }),
    { ...dateless, period: 'last_14_days', scheduled_at: now.toISOString() },
    manual,
  ];
  const since = recordJournals(workflow);
  const ended = await Promise.all(requests.map((request) => follow(workflow.export(request))));
  const journals = since();

  expect(ended.map(({ status, cause }) => cause ?? status)).toEqual(requests.map(() => 'SUCCEEDED'));
  expect(journals.callsTo('token')).toHaveLength(1);
  expect(journals.reports).toHaveLength(3 + 1 + 1);
  const histories = ended.map(({ events }) => events);
  expect(histories.map(mostAtOnce)).toEqual([2, 1, 1]);
  // P5: the scheduled and the manual run have the same window, like a schedule that fires twice.
  const manifests = (await keysOf(workflow, name)).filter((key) => key.endsWith('_manifest.json'));
  expect(manifests).toHaveLength(3 + 1);
  for (const key of manifests) {
    const manifest = JSON.parse(String(await workflow.object(key)));
    const source = workflow.sandbox.reports().find(({ id }) => id === manifest.report_id);
    expect(
      Buffer.concat([...(source?.file.read() ?? [])]).equals(
        await workflow.object(manifest.key, manifest.version_id),
      ),
    ).toBe(true);
  }
  // P3
  expect(gapsIn(journals).length).toBeGreaterThanOrEqual(2 * 5);
  expect(Math.min(...gapsIn(journals))).toBeGreaterThanOrEqual(10);
  // P7
  const of = { name, account: 'sandbox', metrics: ['spend'] };
  const table = await readTable(workflow, of, histories);
  expect(wrongDays(workflow.sandbox, table, { earlier: [], healthy: true, emptied: false })).toEqual([]);
  expect(table.days.size).toBe(120);
});
