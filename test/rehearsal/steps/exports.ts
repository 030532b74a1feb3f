import assert from 'node:assert/strict';
import { join } from 'node:path';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import type { Sandbox } from '../../../infra/lab/sandbox/start-sandbox.ts';
import { LATE, SOON } from '../config.ts';
import { assertDelivered, countDays, type DeployedStage, readDays } from '../stage.ts';
import { until } from '../until.ts';
import { STEPS } from './names.ts';

/** 25 MB, of which the first download brings two parts of 8 MiB. */
const LARGE = { rows: 400_000, brokenAfter: 18_000_000 };

/** Runs exports of each kind, looks at them, and stops one. */
export async function runExports(stage: DeployedStage): Promise<void> {
  const { report, platform } = stage;
  const { sandbox } = platform;
  await report.step('run of each kind', () => runKinds(stage));
  if (sandbox) await report.step('run with a download that breaks off', () => runBroken(stage, sandbox));
  await report.step(STEPS.look, () => look(stage));
  if (sandbox) await report.step('a held day, rebuild --accept-empty', () => acceptEmptyDay(stage, sandbox));
  await report.step('stop, explain, resume', () => stopAndResume(stage));
}

async function runKinds({ present }: DeployedStage): Promise<string> {
  const names = ['daily-campaigns', 'monthly-totals', 'campaigns', 'orders'];
  const [daily, monthly, list, orders] = await Promise.all(names.map((name) => present.read(['run', name])));
  assertDelivered(daily, monthly, list, orders);
  assert.equal(daily.reconciled.days, 7);
  return `${daily.rows} rows, ${monthly.rows} rows, a list of ${list.rows} items, purchases`;
}

async function runBroken({ present }: DeployedStage, { options, faults, journal }: Sandbox) {
  options.report = { ...SOON, rows: LARGE.rows };
  faults.add(`storage reset_after=${LARGE.brokenAfter}`);
  const { outcome, rows, bytes } = await present.read(['run', 'monthly-totals']);
  options.report = SOON;
  const ranges = journal.flatMap(({ headers }) => headers.range ?? []);
  assert.deepEqual({ outcome, rows }, { outcome: 'delivered', rows: LARGE.rows });
  assert.equal(ranges.length, 1);
  return `${bytes} bytes, of which a second call copied ${ranges[0]}`;
}

async function look({ present, config, processes }: DeployedStage): Promise<string> {
  const exports = config.exports.flatMap(({ accounts }) => accounts).length;
  assert.equal((await present.read(['status'])).exports.length, exports);
  assert.equal((await countDays(present, 'daily-campaigns')).missing, 0);
  assert.equal((await readDays(present)).length, 7);
  // Without a range, yesterday is looked at only after 06:00, when its run is due.
  const today = new Date().toISOString().slice(0, 10);
  const range = ['--from', addDays(today, -7), '--to', today];
  const [checked] = (await present.read(['check', 'daily-campaigns', ...range])).exports;
  const agree = checked.months.reduce((days: number, month: { agree: number }) => days + month.agree, 0);
  assert.deepEqual({ agree, differences: checked.differences }, { agree: 7, differences: [] });
  await present.command(['page', '--to', join(processes.folder, 'page.html')]);
  return `${exports} exports of accounts; seven days of one, which check agrees on, and of which none is missing`;
}

async function acceptEmptyDay({ present }: DeployedStage, { options }: Sandbox): Promise<string> {
  const [, { date }] = await readDays(present);
  options.report = { ...SOON, rowsOn: (day) => (day === date ? 0 : 6) };
  const { held } = await present.read(['run', 'daily-campaigns']);
  options.report = SOON;
  assert.equal(held, 1);
  assert.equal((await countDays(present, 'daily-campaigns')).held, 1);
  assert.equal((await readDays(present)).length, 7);
  const range = ['--from', date, '--to', addDays(date, 1)];
  const { outcome } = await present.read(['rebuild', 'daily-campaigns', ...range, '--accept-empty']);
  assert.equal(outcome, 'done');
  assert.equal((await readDays(present)).length, 6);
  return 'the table keeps the day until then';
}

async function stopAndResume(stage: DeployedStage): Promise<string> {
  const { present } = stage;
  const { execution, run } = await stopDaily(stage, async (name) => {
    await present.read(['stop', name]);
  });
  assert.equal((await run).outcome, 'interrupted');
  assert.equal((await present.read(['explain', execution])).outcome, 'stopped');
  assertDelivered(await present.read(['resume', execution]));
  assert.deepEqual((await present.read(['missing', 'daily-campaigns'])).runs, []);
  return 'the rest is delivered, and no run is left that did not finish';
}

/**
 * Starts the daily export, and stops it while its report is generated.
 *
 * @param stop ends the execution of this name
 */
export async function stopDaily(
  { present, platform: { sandbox } }: DeployedStage,
  stop: (execution: string) => Promise<void>,
) {
  const created = sandbox?.reports().length ?? 0;
  if (sandbox) sandbox.options.report = LATE;
  const run = present.read(['run', 'daily-campaigns'], { status: 130 });
  const execution = await until('a report is being generated', async () => {
    const [name] = (await present.read(['status', 'daily-campaigns'])).exports[0].running;
    if (name === undefined) return undefined;
    const { windows } = await present.read(['explain', name]);
    const isCreated = sandbox === undefined || sandbox.reports().length > created;
    return windows.length > 0 && isCreated && name;
  });
  if (sandbox) sandbox.options.report = SOON;
  await stop(execution);
  return { execution, run };
}
