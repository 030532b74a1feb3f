import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import SANDBOX_CONFIG from '../../infra/init/sandbox.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the app as `cdk synth` does, with what `-c` gives. */
function runApp(context: Readonly<Record<string, string>>) {
  const env = { ...process.env, CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: temporaryDirectory() };
  const { status, stderr } = spawnSync(process.execPath, ['infra/app.ts'], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  });
  return { status, stderr };
}

/** A config of the sandbox with the account of a platform. */
function writeWrongConfig(): string {
  const file = join(temporaryDirectory(), 'wrong.json');
  const accounts = { sandbox: { advertiser_ids: 'all' }, acme: { advertiser_ids: 'all' } };
  writeFileSync(file, JSON.stringify({ ...SANDBOX_CONFIG, accounts }));
  return file;
}

const FLAG = '  -c sandbox: must be true, or absent\n';
const ACCOUNT = '  accounts.acme: the sandbox has only the account sandbox\n';

it.each([
  ['-c sandbox=yes', () => ({ sandbox: 'yes' }), FLAG],
  ['another account', () => ({ config: writeWrongConfig() }), ACCOUNT],
  ['both', () => ({ sandbox: 'yes', config: writeWrongConfig() }), FLAG + ACCOUNT],
])('%s is one message that names every fault', (_, contextOf, faults) => {
  const { status, stderr } = runApp(contextOf());
  expect(status).toBe(1);
  expect(stderr).toMatch(/^\S+: the config cannot be deployed:\n/);
  expect(stderr.slice(stderr.indexOf('\n') + 1)).toBe(faults);
});
