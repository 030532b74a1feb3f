import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scaledClock } from '../../infra/local/clock.ts';
import { type Sandbox, startSandbox } from '../../infra/sandbox/sandbox.ts';
import { formatTable, median, withRatio } from './figures.ts';
import { measureCommand } from './measure-command.ts';

/** Waits are short beside the work, and P3's 10 s still take half a second. */
const SPEED = 20;

const EXPORTS = {
  'nine small windows': { end_date: '2026-02-01', max_parallel: 9, bytes: undefined },
  'a file of 1 GB': { end_date: '2025-01-08', max_parallel: 1, bytes: 1e9 },
} as const;

type ExportName = keyof typeof EXPORTS;

/** One run of the command, with the start of its process. */
interface Sample {
  /** From the start of the process to its first request to the platform. */
  readonly firstRequestMs: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
}

/**
 * Measures `run --local` against a sandbox in this process. Each round runs every checkout once, so that a busy machine slows all
 * of them. An unmeasured run at the beginning fills their caches.
 *
 * @param checkouts their node_modules must be installed
 * @returns a table of medians; the ratios are those to the last checkout
 */
export async function benchLocal(checkouts: readonly string[], rounds: number): Promise<string> {
  const lines = [['', '', 'first request', 'CPU', 'peak memory']];
  for (const name of Object.keys(EXPORTS) as ExportName[]) {
    const rows = checkouts.map((checkout) => ({ checkout, samples: [] as Sample[] }));
    for (const { checkout } of rows) await measureExport(checkout, name);
    for (let round = 1; round <= rounds; round++) {
      process.stderr.write(`${name}: round ${round} of ${rounds}\r`);
      for (const { checkout, samples } of rows) samples.push(await measureExport(checkout, name));
    }
    const medians = rows.map(({ samples }) => ({
      request: median(samples.map(({ firstRequestMs }) => firstRequestMs)),
      cpu: median(samples.map(({ cpuSeconds }) => cpuSeconds)),
      peak: median(samples.map(({ peakMb }) => peakMb)),
    }));
    const base = medians.at(-1);
    for (const [at, { request, cpu, peak }] of medians.entries())
      lines.push([
        name,
        checkouts[at] ?? '',
        withRatio(request, base?.request, 0, ' ms'),
        withRatio(cpu, base?.cpu, 2, ' s'),
        withRatio(peak, base?.peak, 0, ' MB'),
      ]);
  }
  return formatTable(lines, 2);
}

async function measureExport(checkout: string, name: ExportName): Promise<Sample> {
  const { bytes, ...fields } = EXPORTS[name];
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-local-'));
  const clock = scaledClock(SPEED);
  await using sandbox = await startSandbox({ now: clock.now, ...(bytes && { report: { bytes } }) });
  const request = { start_date: '2025-01-01', ...fields, metrics: ['spend'] };
  const started = Date.now();
  const { cpu, rss } = await runLocally(checkout, sandbox, request, { folder: folder.path, speed: SPEED });
  const [first] = sandbox.journal;
  if (!first) throw new Error(`${checkout} sent no request`);
  // The sandbox notes the scaled time.
  const firstRequest = clock.start + (first.at - clock.start) / SPEED;
  return { firstRequestMs: firstRequest - started, cpuSeconds: cpu, peakMb: rss / 1e6 };
}

/**
 * Runs `run --local` of a checkout against this sandbox. The results go to `out` in the folder.
 *
 * @param fields of the request
 * @returns CPU seconds and the peak of the resident memory in bytes, its processes together
 */
export async function runLocally(
  checkout: string,
  { clientId: client_id, clientSecret: client_secret, baseUrl, revision, advertiserIds }: Sandbox,
  fields: Readonly<Record<string, unknown>>,
  { folder, speed }: { readonly folder: string; readonly speed: number },
): Promise<{ cpu: number; rss: number }> {
  const credential = join(folder, 'credential.json');
  const input = join(folder, 'request.json');
  writeFileSync(credential, JSON.stringify({ client_id, client_secret }), { mode: 0o600 });
  const advertiser_ids = advertiserIds.slice(0, 1);
  writeFileSync(input, JSON.stringify({ name: 'bench', account: 'sandbox', advertiser_ids, ...fields }));
  const options = { 'base-url': baseUrl, revision, credential, input, out: join(folder, 'out'), speed };
  const flags = Object.entries(options).map(([option, value]) => `--${option} '${value}'`);
  const main = `'${process.execPath}' infra/cli/main.ts run --local ${flags.join(' ')}`;
  return measureCommand(`cd '${checkout}' && ${main} > /dev/null 2> '${folder}/stderr'`, process.env);
}
