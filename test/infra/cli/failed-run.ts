import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { CommandEnd } from '../../support/cli.ts';
import type { CommandRun } from '../../support/command-run.ts';
import { expectNoSecretIn } from '../../support/secrecy.ts';

const PREFIX = 'exports/account=sandbox/export=daily';

/** The export's objects whose names end with `ending`, sorted by key. */
export async function objectsIn(out: string, ending: string): Promise<string[]> {
  const entries = await readdir(out, { recursive: true });
  return entries.filter((path) => path.includes(`/${PREFIX}/`) && path.endsWith(ending)).sort();
}

/** Every file except the reports. */
export async function readFiles(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

/** The document that `run --local --json` printed is also the event, the cause and an object, and no secret is anywhere (P6). */
export async function expectFailureReport(
  { stdout, stderr }: CommandEnd,
  { out, sandbox }: Pick<CommandRun, 'out' | 'sandbox'>,
): Promise<void> {
  expectNoSecretIn([stdout, stderr, await readFiles(out)].join('\n'), { sandbox });
  const { outcome, ...report } = JSON.parse(stdout);
  expect(outcome).toBe('failed');
  const read = async (path = '') => JSON.parse(await readFile(join(out, path), 'utf8'));

  const events = (await readFile(join(out, 'events.jsonl'), 'utf8')).trim().split('\n');
  expect(events.map((event) => JSON.parse(event).detail)).toEqual([report]);
  const { error, cause } = (await read('history.json')).executions[0].result;
  expect([error, JSON.parse(cause)]).toEqual([report.error, report]);
  expect(await read(join(report.bucket, report.key))).toEqual(report);

  const [failed] = report.failed_windows ?? [];
  if (!failed) return; // GetToken failed before there was a window.
  const [own = ''] = await objectsIn(out, `end_date=${failed.window.end_date}/_failure.json`);
  // If there is only one window, the export's failure report replaces the window's.
  expect(await read(own)).toEqual(own === join(report.bucket, report.key) ? report : failed);
}
