import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scaledClock } from '../../../infra/local/clock.ts';
import { startSandbox } from '../../../infra/local/sandbox/sandbox.ts';
import { runCommand } from '../../support/cli.ts';
import { expectNoSecretIn } from '../../support/secrecy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SPEED = 1000;

/** Exports a week from a sandbox with these faults. Neither the output nor the files may contain a secret. */
async function runWith(faults: string[], options: string[]) {
  await using sandbox = await startSandbox({ now: scaledClock(SPEED).now, faults });
  const directory = temporaryDirectory();
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
  const files = await readTexts(join(directory, 'out'));
  expect(files).not.toBe('');
  expectNoSecretIn([ended.stdout, ended.stderr, files].join('\n'), { sandbox });
  return ended;
}

/** Every file except the reports. */
async function readTexts(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^report\.\w+$/.test(entry.name));
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

it.each([
  ['is delivered', 0, [], []],
  ['fails at the token, with --json', 1, ['token status=401 times=always'], ['--json']],
  ['gets a page instead of the report', 1, ['storage body="<html>sbx_sig_x</html>" times=always'], []],
])('P6: no secret is in the output or the files of an export that %s', async (...row) => {
  const [, status, faults, options] = row;
  const ended = await runWith(faults, options);
  expect(ended.status).toBe(status);
  expect(ended.stdout + ended.stderr).not.toBe('');
});
