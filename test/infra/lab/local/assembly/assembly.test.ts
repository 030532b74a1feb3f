import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import {
  ASSEMBLY_FILE,
  loadAssembly,
  makeAssembly,
  prepareAssembly,
} from '../../../../../infra/lab/local/assembly/assembly.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const folder = prepareAssembly();

test('names no platform and no account, so that a run can add its own', () => {
  const { environment } = loadAssembly(folder).functions[0] ?? {};
  expect(environment).toMatchObject({ PLATFORM_BASE_URL: 'https://platform.invalid' });
  expect(readFileSync(join(folder, ASSEMBLY_FILE), 'utf8')).not.toMatch(/127\.0\.0\.1|localhost/);
});

test('is announced before it is made', () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.stubEnv('NODE_OPTIONS', '--no-such-option');
  expect(() => makeAssembly(temporaryDirectory())).toThrow('--no-such-option');
  expect(stderr.mock.calls.join('')).toMatch(/^Prepares the workflow/);
});
