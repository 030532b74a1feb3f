import { expect, it, vi } from 'vitest';
import { installForLambda } from '../../../infra/constructs/bundle.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// The checks (test/checks/runtime.check.ts) install the packages.
it("packages for Lambda that npm cannot install fail the synth, with npm's reason", async () => {
  vi.stubEnv('npm_config_cache', temporaryDirectory());
  vi.stubEnv('npm_config_offline', 'true');
  await expect(installForLambda(temporaryDirectory())).rejects.toThrow(
    /^npm could not install .*: npm error code ENOTCACHED/,
  );
});
