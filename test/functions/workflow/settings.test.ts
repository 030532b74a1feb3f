import { describe, expect, it } from 'vitest';
import { readSettingObject, readSettings, type SettingName } from '../../../functions/workflow/settings.ts';
import { SETTINGS, setEnvironment } from '../../support/lambda.ts';

const OPTIONAL = {
  REFRESH_PARAMETERS: '{"audience":"reports"}',
  DOWNLOAD_HOSTS: 'files.example,*.storage.example',
  RUNBOOK_URL: 'https://wiki.example/runbook',
  ALLOW_LOOPBACK: 'true',
};

const ALL = [...Object.keys(SETTINGS), ...Object.keys(OPTIONAL)] as SettingName[];

/** The names of the faulty settings. */
function faultsOf(environment: Readonly<Record<string, string | undefined>>): unknown[] {
  try {
    readSettings(ALL, environment);
  } catch (error) {
    return JSON.parse((error as Error).message).map(({ path }: { path: unknown[] }) => path.join('.'));
  }
  return [];
}

describe('the settings', () => {
  it('are read from the environment', () => {
    expect(readSettings(ALL, { ...SETTINGS, ...OPTIONAL, AWS_REGION: 'x' })).toStrictEqual({
      ...SETTINGS,
      ...OPTIONAL,
    });
  });

  it('are read from this process’s environment by default', () => {
    setEnvironment(SETTINGS);
    expect(readSettings(ALL)).toEqual(SETTINGS);
  });

  it('are only those that the step reads, and STEP', () => {
    expect(readSettings(['BUCKET', 'RUNBOOK_URL'], { ...SETTINGS, ...OPTIONAL })).toStrictEqual({
      STEP: SETTINGS.STEP,
      BUCKET: SETTINGS.BUCKET,
      RUNBOOK_URL: OPTIONAL.RUNBOOK_URL,
    });
    expect(readSettings([], { STEP: 'CheckReport' })).toEqual({ STEP: 'CheckReport' });
  });

  it.each(Object.keys(SETTINGS))('name %s if it is missing', (name) => {
    expect(faultsOf({ ...SETTINGS, [name]: undefined })).toEqual([name]);
  });

  it('name all missing settings at once', () => {
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
  ])('name %s if it is "%s"', (name, value) => {
    expect(faultsOf({ ...SETTINGS, [name]: value })).toEqual([name]);
  });
});

describe('a setting that holds an object', () => {
  it('is parsed from JSON, and is empty by default', () => {
    expect(readSettingObject(OPTIONAL.REFRESH_PARAMETERS)).toEqual({ audience: 'reports' });
    expect([readSettingObject(undefined), readSettingObject('{}')]).toEqual([{}, {}]);
  });

  it.each([
    'audience=reports',
    '["reports"]',
    '"reports"',
    'null',
    '{"audience":7}',
    '',
  ])('is refused if it is %j', (text) => {
    expect(() => readSettingObject(text)).toThrow();
  });
});
