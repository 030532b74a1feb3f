import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import type { Endpoint } from '../../../infra/sandbox/exchange.ts';
import { runCommand, startCommand } from '../../support/cli.ts';
import { type CommandRun, startCommandRun } from '../../support/command-run.ts';

// More than one part, so that a copy can be killed after the first one was stored.
const BYTES = 9 * 1024 * 1024;
const THREE_WINDOWS = { start_date: '2026-09-01', end_date: '2026-12-01' };

/** The progress of a run. */
interface Progress {
  calls(endpoint: Endpoint): number;
  /** The events that were announced, as text. */
  announced(): Promise<string>;
  manifests(): Promise<number>;
  /** True if S3 has bytes of a multipart upload. */
  uploading(): Promise<boolean>;
}

/** A state in which a run is killed, and the faults that hold it there. */
interface Moment {
  readonly in: string;
  readonly faults?: readonly string[];
  reached(progress: Progress): Promise<boolean> | boolean;
}

const MOMENTS: readonly Moment[] = [
  { in: 'GetToken', faults: ['token hang'], reached: ({ calls }) => calls('token') > 0 },
  {
    in: 'CreateReport before and after a report was created, and SaveReport after a part was stored',
    faults: ['create hang', 'create nth=2 hang processed', 'storage stall_after=9000000'],
    reached: async ({ calls, uploading }) => calls('create') >= 3 && (await uploading()),
  },
  {
    in: 'CheckReport, SaveReport before the first byte, and WaitForReport',
    faults: ['report hang', 'storage hang'],
    reached: ({ calls }) => calls('report') > 1 && calls('storage') > 0,
  },
  { in: 'PublishWindow', reached: async ({ manifests }) => (await manifests()) > 0 },
  { in: 'AnnounceExport', reached: async ({ announced }) => (await announced()).includes('Exported') },
  {
    in: 'AnnounceFailure',
    faults: ['create status=422 times=always'],
    reached: async ({ announced }) => (await announced()).includes('Failed'),
  },
];

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true }).catch(() => []);
  return entries.map((entry) => join(directory, entry));
}

function manifestsIn(files: readonly string[]): string[] {
  return files.filter((file) => file.includes('/exports/') && file.endsWith('/_manifest.json'));
}

/** Each manifest with the time at which it was written. */
async function manifestVersions(out: string): Promise<Set<string>> {
  const found = manifestsIn(await filesIn(out));
  return new Set(await Promise.all(found.map(async (file) => `${file} ${(await stat(file)).mtimeMs}`)));
}

/** Follows a run from now on. */
async function watch({ sandbox, out }: CommandRun): Promise<Progress> {
  const before = sandbox.journal.length;
  const events = () => readFile(join(out, 'events.jsonl'), 'utf8').catch(() => '');
  const [announced, manifests] = [(await events()).length, await manifestVersions(out)];
  const sizeOf = (file: string) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  return {
    calls: (endpoint) => sandbox.journal.slice(before).filter((call) => call.endpoint === endpoint).length,
    announced: async () => (await events()).slice(announced),
    manifests: async () => [...(await manifestVersions(out))].filter((one) => !manifests.has(one)).length,
    uploading: async () => {
      const parts = (await filesIn(out)).filter((file) => file.includes('/.uploads/'));
      return Math.max(...(await Promise.all(parts.map(sizeOf))), 0) > 0;
    },
  };
}

/** Checks that the object of every manifest exists with the bytes of the platform (P2). */
async function expectWholeObjects({ out, sandbox }: CommandRun, least: number): Promise<void> {
  const manifests = manifestsIn(await filesIn(out));
  expect(manifests.length).toBeGreaterThanOrEqual(least);
  for (const file of manifests) {
    const { bucket, key, bytes, checksum, report_id } = JSON.parse(await readFile(file, 'utf8'));
    const object = await readFile(join(out, bucket, key));
    expect([object.length, base64Crc32(crc32(object))]).toEqual([bytes, checksum.value]);
    const digest = createHash('sha256').update(object).digest('hex');
    expect(digest).toBe(sandbox.expected(report_id).sha256());
  }
}

it('28: a local run that is killed in any state leaves the same objects when it runs again (P2, P5)', async () => {
  const run = await startCommandRun(THREE_WINDOWS, { report: { bytes: BYTES, secondsToReady: 20 } });
  const { sandbox, args, out } = run;
  for (const moment of MOMENTS) {
    sandbox.faults.clear();
    for (const fault of moment.faults ?? []) sandbox.faults.add(fault);
    const progress = await watch(run);
    const { child, ended } = startCommand(args);
    await vi.waitUntil(() => moment.reached(progress), { timeout: 120_000, interval: 5 });
    child.kill('SIGKILL');
    expect((await ended).status, moment.in).toBeNull();
    const delivered = (await progress.announced()).includes('Report Exported');
    await expectWholeObjects(run, delivered ? 3 : 0);
  }
  sandbox.faults.clear();
  const { status, stdout } = await runCommand(args);
  expect(status).toBe(0);
  expect(JSON.parse(stdout).windows).toHaveLength(3);
  await expectWholeObjects(run, 3);
  const objects = (await filesIn(out)).filter(
    (file) => /\/exports\/.*\.json$/.test(file) && !file.includes('/.'),
  );
  // A report and a manifest of each window.
  expect(objects).toHaveLength(6);
}, 400_000);
