import { devNull } from 'node:os';
import { expect, test, vi } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const SETTINGS = {
  AWS_USE_FIPS_ENDPOINT: 'true',
  AWS_PROFILE: 'gone',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
};

/** The settings of AWS at the moment when a command begins to write. */
async function settingsOf(args: readonly string[]) {
  for (const [name, value] of Object.entries(SETTINGS)) vi.stubEnv(name, value);
  const seen: Record<string, string | undefined>[] = [];
  await runCommand(args, '', '.', async () => {
    const { runCommandLine } = await import('../../../../infra/operate/cli/program.ts');
    await runCommandLine();
    seen.push({ ...process.env });
  });
  const [environment = {}] = seen;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('AWS_')));
}

test('32: no setting of AWS reaches a command with --local, nor a file of settings', async () => {
  const out = temporaryDirectory();
  expect(await settingsOf(['status', '--local', '--out', out])).toEqual({
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
    AWS_EC2_METADATA_DISABLED: 'true',
  });
});

test('32: a command about the deployed stack keeps them', async () => {
  expect(await settingsOf(['status', '--stack', 'none'])).toMatchObject(SETTINGS);
});
