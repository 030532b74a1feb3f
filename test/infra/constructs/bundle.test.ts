import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { bundleFunctions, installForLambda } from '../../../infra/constructs/bundle.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

it('the bundle of CurateReport is complete outside of the project', () => {
  const bundles = temporaryDirectory();
  bundleFunctions(bundles);
  // Loads from the bundle's folder, in another process.
  const file = JSON.stringify(join(bundles, 'curate-report/index.cjs'));
  const script = `const require = (await import('node:module')).createRequire(${file});
    console.log(typeof require('./index.cjs').handler, require('@duckdb/node-bindings').library_version());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    env: {},
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({
    stdout: expect.stringMatching(/^function v1\.\d+\.\d+\n$/),
    stderr: '',
  });
});

it("packages for Lambda that npm cannot install fail the synth with npm's reason", async () => {
  vi.stubEnv('npm_config_cache', temporaryDirectory());
  vi.stubEnv('npm_config_offline', 'true');
  await expect(installForLambda(temporaryDirectory())).rejects.toThrow(
    /^npm could not install the packages for Lambda: npm error code ENOTCACHED/,
  );
});
