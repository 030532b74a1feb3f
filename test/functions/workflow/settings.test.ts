import { describe, expect, it } from 'vitest';
import { readSettingObject, readSettings, type SettingName } from '../../../functions/workflow/settings.ts';
import { SETTINGS } from '../../support/lambda.ts';

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
  it('are only those that the step reads, and STEP', () => {
    expect(readSettings(['BUCKET', 'RUNBOOK_URL'], { ...SETTINGS, ...OPTIONAL })).toStrictEqual({
      STEP: SETTINGS.STEP,
      BUCKET: SETTINGS.BUCKET,
      RUNBOOK_URL: OPTIONAL.RUNBOOK_URL,
    });
  });

  it('name all missing settings at once', () => {
    expect(faultsOf({})).toEqual(Object.keys(SETTINGS));
  });
});

describe('a setting that holds an object', () => {
  it('is parsed from JSON, and is empty by default', () => {
    expect(readSettingObject(OPTIONAL.REFRESH_PARAMETERS)).toEqual({ audience: 'reports' });
    expect([readSettingObject(undefined), readSettingObject('{}')]).toEqual([{}, {}]);
  });
});
