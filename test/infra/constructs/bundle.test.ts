import { describe, expect, it, vi } from 'vitest';
import { installForLambda } from '../../../infra/constructs/bundle.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// The checks (test/checks/runtime.check.ts) install the packages.
describe('the packages for Lambda', () => {
  it.each([
    [
      "that npm cannot install, with npm's reason",
      'offline',
      /^npm could not install .*: npm error code ENOTCACHED/,
    ],
    [
      'that npm leaves out, with their names',
      'dry_run',
      /npm did not install @duckdb\/node-bindings-linux-arm64.* --libc=glibc/,
    ],
  ])('fail the synth %s', async (_, option, message) => {
    vi.stubEnv('npm_config_cache', temporaryDirectory());
    vi.stubEnv(`npm_config_${option}`, 'true');
    await expect(installForLambda(temporaryDirectory())).rejects.toThrow(message);
  });
});
