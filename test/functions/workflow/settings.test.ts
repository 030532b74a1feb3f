import { expect, it } from 'vitest';
import { readSettingObject, readSettings, type SettingName } from '../../../functions/workflow/settings.ts';
import { SETTINGS } from '../../support/lambda.ts';

it('a step gets only the settings that it reads, and STEP', () => {
  const environment = { ...SETTINGS, RUNBOOK_URL: 'https://wiki.example/runbook', ALLOW_LOOPBACK: 'true' };
  expect(readSettings(['BUCKET', 'RUNBOOK_URL'], environment)).toStrictEqual({
    STEP: SETTINGS.STEP,
    BUCKET: SETTINGS.BUCKET,
    RUNBOOK_URL: 'https://wiki.example/runbook',
  });
});

it('all missing settings are named at once', () => {
  const names = Object.keys(SETTINGS) as SettingName[];
  const paths = names.map((name) => expect.objectContaining({ path: [name] }));
  expect(() => readSettings([...names, 'DOWNLOAD_HOSTS'], {})).toThrow(
    expect.objectContaining({ issues: paths }),
  );
});

it('a setting that holds an object is empty by default', () => {
  expect(readSettingObject('{"audience":"reports"}')).toEqual({ audience: 'reports' });
  expect(readSettingObject(undefined)).toEqual({});
});
