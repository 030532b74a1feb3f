import { describe, expect, it } from 'vitest';
import { readSettingObject, readSettings } from '../../../functions/workflow/settings.ts';
import { SETTINGS, setEnvironment } from '../../support/lambda.ts';

const OPTIONAL = {
  REFRESH_PARAMETERS: '{"audience":"reports"}',
  DOWNLOAD_HOSTS: 'files.example,*.storage.example',
  RUNBOOK_URL: 'https://wiki.example/runbook',
  ALLOW_LOOPBACK: 'true',
};

/** The settings that are named as faulty. */
function faultsOf(environment: Readonly<Record<string, string | undefined>>): unknown[] {
  try {
    readSettings(environment);
  } catch (error) {
    return JSON.parse((error as Error).message).map(({ path }: { path: unknown[] }) => path.join('.'));
  }
  return [];
}

describe('the settings', () => {
  it('are the environment’s variables of their names, and no others', () => {
    expect(readSettings({ ...SETTINGS, ...OPTIONAL, AWS_REGION: 'x' })).toStrictEqual({
      ...SETTINGS,
      ...OPTIONAL,
    });
  });

  it('are this process’s where no environment is given', () => {
    setEnvironment(SETTINGS);
    expect(readSettings()).toEqual(SETTINGS);
  });

  it.each(Object.keys(SETTINGS))('name %s where it is missing', (name) => {
    expect(faultsOf({ ...SETTINGS, [name]: undefined })).toEqual([name]);
  });

  it('name all that are missing at once', () => {
    expect(faultsOf({})).toEqual(Object.keys(SETTINGS));
  });

  it.each([
    ['PLATFORM_BASE_URL', 'api.platform.example'],
    ['MAX_DOWNLOAD_BYTES', '0'],
    ['MAX_DOWNLOAD_BYTES', '007'],
    ['MAX_DOWNLOAD_BYTES', '1e9'],
    ['MAX_DOWNLOAD_BYTES', '10 GB'],
    ['ALLOW_LOOPBACK', 'false'],
    ['ALLOW_LOOPBACK', 'TRUE'],
  ])('name %s where it is "%s"', (name, value) => {
    expect(faultsOf({ ...SETTINGS, [name]: value })).toEqual([name]);
  });
});

describe('a setting that holds an object', () => {
  it('is what its JSON says, and empty where it is absent', () => {
    expect(readSettingObject(OPTIONAL.REFRESH_PARAMETERS)).toEqual({ audience: 'reports' });
    expect([readSettingObject(undefined), readSettingObject('{}')]).toEqual([{}, {}]);
  });

  it.each([
    ['no JSON', 'audience=reports'],
    ['an array', '["reports"]'],
    ['a text', '"reports"'],
    ['null', 'null'],
    ['an object of other things than texts', '{"audience":7}'],
    ['empty', ''],
  ])('is refused where it is %s', (_, text) => {
    expect(() => readSettingObject(text)).toThrow();
  });
});
