import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scaledClock } from '../../../infra/local/clock.ts';
import { startSandbox } from '../../../infra/local/sandbox/sandbox.ts';
import { runCommand } from '../../support/cli.ts';
import { expectNoSecretIn } from '../../support/secrecy.ts';

const SPEED = 1000;

/** Exports a week from a sandbox with these faults; no stream and no file that the command leaves may hold a secret. */
async function exportWith(faults: string[], options: string[]) {
  await using sandbox = await startSandbox({ now: scaledClock(SPEED).now, faults });
  const directory = await mkdtemp(join(tmpdir(), 'cli-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const { clientId: client_id, clientSecret: client_secret, advertiserIds } = sandbox;
  const range = { start_date: '2026-10-01', end_date: '2026-10-08' };
  const advertiser_ids = advertiserIds.slice(0, 1);
  const request = { name: 'daily', account: 'sandbox', ...range, advertiser_ids, metrics: ['spend'] };
  await writeFile(join(directory, 'credential.json'), JSON.stringify({ client_id, client_secret }));
  await writeFile(join(directory, 'request.json'), JSON.stringify(request));
  const named = {
    '--base-url': sandbox.baseUrl,
    '--revision': sandbox.revision,
    '--credential': join(directory, 'credential.json'),
    '--input': join(directory, 'request.json'),
    '--speed': String(SPEED),
    '--out': join(directory, 'out'),
  };
  const ended = await runCommand(['run', '--local', ...Object.entries(named).flat(), ...options]);
  const left = await textIn(join(directory, 'out'));
  expect(left).not.toBe('');
  expectNoSecretIn([ended.stdout, ended.stderr, left].join('\n'), { sandbox });
  return ended;
}

async function textIn(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

it.each([
  ['is delivered', 0, [], []],
  ['fails at the token, for a program', 1, ['token status=401 times=always'], ['--json']],
  ['is sent a page in place of the report', 1, ['storage body="<html>sbx_sig_x</html>" times=always'], []],
])('P6: neither what the command prints nor a file that it leaves holds a secret when the export %s', async (...row) => {
  const [, status, faults, options] = row;
  const ended = await exportWith(faults, options);
  expect(ended.status).toBe(status);
  expect(ended.stdout + ended.stderr).not.toBe('');
});
