import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import SANDBOX_CONFIG from '../../infra/init/sandbox.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Gives an app the package that is here: no build of it has to be installed. */
const INDEX = pathToFileURL(join(ROOT, 'infra/index.ts')).href;
const HOOK = `import { registerHooks } from 'node:module';
registerHooks({
  resolve: (name, context, next) =>
    name === 'ad-report-export' ? { url: '${INDEX}', shortCircuit: true } : next(name, context),
});`;

/** Runs an app as `cdk synth` does, with what `-c` gives. */
function runApp(context: Readonly<Record<string, string>>, file = 'infra/app.ts') {
  const env = { ...process.env, CDK_CONTEXT_JSON: JSON.stringify(context), CDK_OUTDIR: temporaryDirectory() };
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(HOOK)}`, file],
    {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    },
  );
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

it('an app of init refuses a wrong -c sandbox in one message, without a stack trace', () => {
  const { status, stderr } = runApp({ sandbox: 'yes' }, 'infra/init/app-with-sandbox.ts');
  expect(status).toBe(1);
  expect(stderr).toBe(`the config cannot be deployed:\n${FLAG}`);
});
