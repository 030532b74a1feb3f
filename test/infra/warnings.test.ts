import { RootConstruct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../infra/config.ts';
import { addWarnings } from '../../infra/warnings.ts';
import { CONTEXT } from '../support/stack.ts';

function warningsOf(changes: Readonly<Record<string, unknown>>, now = '2026-11-21T06:00:00Z'): unknown[] {
  const root = new RootConstruct();
  addWarnings(root, parseConfig({ ...CONTEXT, ...changes }), new Date(now));
  return root.node.metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data);
}

describe('9.6: the synth', () => {
  it.each([
    ['2026-11-21T06:00:00Z', 'disables on 2027-01-01: 41 days are left'],
    ['2026-12-31T23:59:59Z', 'disables on 2027-01-01: 1 day is left'],
    ['2027-01-01T00:00:00Z', 'disabled on 2027-01-01'],
  ])('warns at %s about each account that uses an API key: %s', (now, words) => {
    const warning = expect.stringContaining(words);
    expect(warningsOf({ legacy_api_key_accounts: ['acme', 'globex'] }, now)).toEqual([warning, warning]);
  });
});

describe('the synth', () => {
  it.each([
    ['rate(2 days)', 24, 1],
    ['rate(2 days)', 48, 0],
    ['rate(30 minutes)', 24, 0],
    ['rate(36 hours)', 24, 1],
    ['cron(0 6 * * ? *)', 24, 0],
    ['cron(0/15 6-9 ? * * *)', 24, 0],
    ['cron(0 6 ? * MON-FRI *)', 24, 1],
    ['cron(0 6 ? * MON-FRI *)', 72, 0],
    ['cron(0 7 2 * ? *)', 24, 1],
    ['cron(0 7 * JAN ? *)', 24, 1],
  ])('of %s, expected every %i hours, gives %i warnings', (expression, expect_every_hours, count) => {
    const [daily] = CONTEXT.exports;
    expect(warningsOf({ exports: [{ ...daily, schedule: { expression, expect_every_hours } }] })).toEqual(
      Array(count).fill(expect.stringMatching(/^export daily of account acme .*Set expect_every_hours/)),
    );
  });

  it('warns about metrics whose type is a guess', () => {
    const [daily] = CONTEXT.exports;
    const metrics = ['spend', 'Reach', 'number_of_purchases', 'frequency', 'ctr'];
    const guessed = { ...daily, metrics, columns: { CTR: 'double' } };
    expect(warningsOf({ exports: [guessed] })).toEqual([
      expect.stringMatching(/^export daily of account acme stores Reach, frequency as double/),
    ]);
    expect(warningsOf({ exports: [{ ...guessed, table: false, columns: undefined }] })).toEqual([]);
    expect(warningsOf({ exports: [guessed], tables: false })).toEqual([]);
  });

  it('gives no warning about a daily export without an API key', () => {
    expect(warningsOf({})).toEqual([]);
  });
});
