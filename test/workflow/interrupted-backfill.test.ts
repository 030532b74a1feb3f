import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import { scaledClock } from '../../infra/local/clock.ts';
import type { Sandbox } from '../../infra/sandbox/sandbox.ts';
import { startCommand } from '../support/cli.ts';
import { type CommandRun, startCommandRun } from '../support/command-run.ts';
import { callsTo } from '../support/journal.ts';

const SPEED = 500;

/** 731 days: 16 windows of 45 days and one of 11. */
const TWO_YEARS = { start_date: '2024-01-01', end_date: '2026-01-01', max_parallel: 3, table: false };
const WINDOWS = 17;

/** First days of the windows that have a manifest, sorted. */
async function deliveredIn(out: string): Promise<string[]> {
  const entries = await readdir(out, { recursive: true }).catch(() => []);
  const manifests = entries.filter((path) => path.endsWith('_manifest.json'));
  return manifests.map((path) => /start_date=([\d-]+)/.exec(path)?.[1] ?? path).sort();
}

/** First days of the windows whose reports were requested. */
function requestedFrom(sandbox: Sandbox): string[] {
  return callsTo(sandbox, 'create').map(({ body }) => JSON.parse(body).start_date);
}

/** Checks that the object of every manifest exists with the bytes of the platform (P2). */
async function expectWholeObjects({ out, sandbox }: CommandRun): Promise<void> {
  const paths = (await readdir(out, { recursive: true })).filter((path) => path.endsWith('_manifest.json'));
  for (const path of paths.filter((each) => each.includes('/exports/'))) {
    const { bucket, key, checksum, report_id } = JSON.parse(await readFile(join(out, path), 'utf8'));
    const object = await readFile(join(out, bucket, key));
    expect(base64Crc32(crc32(object))).toBe(checksum.value);
    const digest = createHash('sha256').update(object).digest('hex');
    expect(digest).toBe(sandbox.expected(report_id).sha256());
  }
}

it('28, 30: a backfill of two years that is interrupted twice never requests again what was delivered', async () => {
  const now = scaledClock(SPEED).now;
  // After this many reports, none becomes READY, so a run cannot end before it is interrupted.
  let ready = 0;
  const report = { secondsToProcessing: 0, secondsToReady: () => (ready-- > 0 ? 0 : 86_400) };
  const run = await startCommandRun(TWO_YEARS, { now, report, tokenSeconds: 86_400 });
  const { sandbox, args, out } = run;
  const command = [...args, '--speed', String(SPEED)];

  /** Interrupts a run after it has delivered five windows more. */
  const interrupt = async (more: readonly string[], signal: NodeJS.Signals) => {
    ready = 5;
    const count = (await deliveredIn(out)).length + ready;
    const { child, ended } = startCommand([...command, ...more]);
    await expect.poll(() => deliveredIn(out), { timeout: 60_000 }).toHaveLength(count);
    child.kill(signal);
    const { status } = await ended;
    await expectWholeObjects(run);
    return { status, delivered: await deliveredIn(out), requested: requestedFrom(sandbox).length };
  };
  const first = await interrupt([], 'SIGINT');
  const second = await interrupt(['--only-missing'], 'SIGKILL');
  ready = Infinity;
  const { status, stdout } = await startCommand([...command, '--only-missing']).ended;

  expect([first.status, second.status, status]).toEqual([130, null, 0]);
  const { already_delivered, windows } = JSON.parse(stdout);
  expect([already_delivered, windows.length]).toEqual([10, WINDOWS - 10]);
  expect(await deliveredIn(out)).toHaveLength(WINDOWS);
  // Only a window that was under way is requested again.
  const requested = requestedFrom(sandbox);
  for (const interrupted of [first, second]) {
    const again = requested.slice(interrupted.requested).filter((day) => interrupted.delivered.includes(day));
    expect(again).toEqual([]);
  }
  expect(new Set(requested).size).toBe(WINDOWS);
});
