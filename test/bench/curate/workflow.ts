import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scaledClock } from '../../../infra/local/clock.ts';
import { startLocal } from '../../../infra/local/run.ts';
import type { HistoryEvent } from '../../../infra/local/step-functions/history.ts';
import { startSandbox } from '../../../infra/sandbox/sandbox.ts';
import { median } from '../measure-command.ts';

/** A report of so many rows may take at most 1 s longer with CurateReport, once its function is warm. */
const ROWS = 10_000;

/** Makes nothing but the waits for the platform shorter. */
const SPEED = 20;

/** Nine windows, one after the other. The function starts for the first. */
const DATES = { start_date: '2025-01-01', end_date: '2026-02-01', max_parallel: 1 };

/** Measures CurateReport in a workflow from its state's start to its end, in real seconds. */
export async function benchWorkflow(): Promise<string> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-curate-'));
  const clock = scaledClock(SPEED);
  await using sandbox = await startSandbox({ now: clock.now, report: { rows: ROWS } });
  const { clientId: client_id, clientSecret: client_secret, baseUrl, revision } = sandbox;
  const credentials = { sandbox: { text: JSON.stringify({ client_id, client_secret }) } };
  await using local = await startLocal({ clock, baseUrl, revision, credentials, out: folder.path });
  const advertiser_ids = sandbox.advertiserIds.slice(0, 1);
  const fields = { metrics: ['spend', 'impressions'], dimensions: ['campaign_id'], granularity: 'DAY' };
  const execution = local.export({ name: 'bench', account: 'sandbox', advertiser_ids, ...DATES, ...fields });
  const { status } = await execution.result;
  if (status !== 'SUCCEEDED') throw new Error(`The export ended as ${status}`);
  const [cold = 0, ...warm] = secondsOf(execution.history.events, 'CurateReport');
  const longest = Math.max(...warm);
  const first = `the first with its cold start ${cold.toFixed(2)} s`;
  const others = `${median(warm).toFixed(2)} s (longest ${longest.toFixed(2)} s)`;
  return `CurateReport of ${ROWS} rows, 45 days each: ${others}, ${first}`;
}

function secondsOf(events: readonly HistoryEvent[], state: string): number[] {
  const timesOf = (type: HistoryEvent['type']) =>
    events
      .filter((event) => event.type === type && event.state === state)
      .map(({ time }) => Date.parse(time));
  const ends = timesOf('StateExited');
  return timesOf('StateEntered').map((start, index) => ((ends[index] ?? Number.NaN) - start) / SPEED / 1000);
}
