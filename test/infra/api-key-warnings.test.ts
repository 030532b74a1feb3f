import { App, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { warnOfApiKeys } from '../../infra/api-key-warnings.ts';

describe('9.6: the synth', () => {
  it.each([
    ['2026-11-21T06:00:00Z', 'disables on 2027-01-01: 41 days are left'],
    ['2026-12-31T23:59:59Z', 'disables on 2027-01-01: 1 day is left'],
    ['2027-01-01T00:00:00Z', 'disabled on 2027-01-01'],
  ])('warns at %s of each account that uses an API key: %s', (now, words) => {
    const stack = new Stack(new App({ builtinCloudFormationValidation: false }));
    warnOfApiKeys(stack, { legacy_api_key_accounts: ['acme', 'globex'] }, new Date(now));
    const warnings = Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp(words));
    expect(warnings).toHaveLength(2);
  });

  it('warns of none where the config names none', () => {
    const stack = new Stack(new App({ builtinCloudFormationValidation: false }));
    warnOfApiKeys(stack, {}, new Date('2026-11-21T06:00:00Z'));
    expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([]);
  });
});
