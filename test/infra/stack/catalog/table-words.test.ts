import { describe, expect, it } from 'vitest';
import { LEDGER_COLUMNS } from '../../../../functions/workflow/table.ts';
import { documentTable, LEDGER_TABLE, tableWords } from '../../../../infra/stack/catalog/table-words.ts';
import { type ConfiguredEntry, tablesOf } from '../../../../infra/stack/config/exports.ts';

const DAILY = {
  name: 'daily',
  account: 'acme',
  period: 'yesterday',
  time_zone: 'Europe/Berlin',
  advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'],
  metrics: ['spend', 'reach', 'joy'],
  dimensions: ['campaign_id', 'weather'],
};
const GLOBEX = { ...DAILY, account: 'globex', time_zone: undefined };
const TARGET = { platform: 'api.platform.example', revision: '2026-09-01' };

function wordsOf(exports: readonly ConfiguredEntry[], currency: Readonly<Record<string, string>> = {}) {
  const codes = Object.entries(currency).map(([account, code]) => [account, { currency: code }]);
  const [table] = tablesOf(exports, TARGET, { accounts: Object.fromEntries(codes) });
  if (!table) throw new Error('no table');
  // Others of the config do not matter.
  return tableWords(documentTable(table, [...exports, { ...DAILY, name: 'other', account: 'initech' }]));
}

describe('the words of a table', () => {
  it('say what a row is, where its days end, and what each column means', () => {
    const { description, comments } = wordsOf([DAILY], { acme: 'EUR' });
    expect(description).toBe(
      'The report of acme/daily: one row per account, day, campaign_id and weather. Each day of an account is from its ' +
        'newest report, so it counts once. Days are taken to be in Europe/Berlin. Amounts are in EUR.',
    );
    expect(comments).toMatchObject({
      date: 'The day, taken to be in Europe/Berlin (time_zone of the export).',
      campaign_id: 'The id of the campaign.',
      weather: 'A dimension of the report.',
      spend: 'The money spent on ads. Unit: EUR. Adds up over days and dimensions.',
      reach: 'People who saw an ad, each counted once. Unit: count. Does not add up over days or dimensions.',
      joy: 'A metric of the report.',
    });
  });

  it('name the time zone and the currency of each account, if they differ', () => {
    const { description, comments } = wordsOf([DAILY, GLOBEX], { acme: 'EUR', globex: 'USD' });
    expect(description).toContain('Days are taken to be in Europe/Berlin (acme), UTC (globex).');
    expect(description).toContain('Amounts are in EUR (acme), USD (globex).');
    expect(comments.date).toContain('Europe/Berlin (acme), UTC (globex)');
    expect(comments.spend).toContain('Unit: money.');
  });

  it('say that the currency is not known', () => {
    const { description, comments } = wordsOf([GLOBEX]);
    expect(description).toContain("Amounts are in the account's currency, which the config does not name.");
    expect(comments.spend).toContain('Unit: money.');
    expect(comments.currency).toBeUndefined();
  });

  it('name the field of the file, if it has another name', () => {
    const columns = { spend: { from: 'Spend (USD)' } };
    const { comments } = wordsOf([{ ...DAILY, metrics: ['spend', 'joy.7d'], columns }]);
    expect(comments.spend).toMatch(/^The money spent on ads \(Spend \(USD\) in the file\)\. /);
    expect(comments.joy_7d).toBe('A metric of the report (joy.7d in the file).');
  });

  it('describe a list', () => {
    const list = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' };
    const { description, comments } = wordsOf([list], { acme: 'EUR' });
    expect(description).toBe('The newest list of campaigns (acme/campaigns): one row per account and item.');
    expect(Object.keys(comments)).toEqual(['account', 'id', 'name', 'created_at', 'item', 'snapshot_at']);
    expect(comments.item).toBe('The whole item, in JSON.');
  });

  it('fit the catalog, however many accounts and however long names there are', () => {
    const accounts = Array.from({ length: 60 }, (_, index) => `account-with-a-long-name-${index}`);
    const columns = { spend: { from: '€'.repeat(100) } };
    const { description, comments } = wordsOf(
      accounts.map((account, index) => ({
        ...DAILY,
        account,
        columns,
        ...(index > 0 && { time_zone: 'America/Argentina/Buenos_Aires' }),
      })),
    );
    const sizes = Object.values(comments).map((comment) => Buffer.byteLength(comment));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(255);
    expect(Buffer.byteLength(description)).toBeLessThanOrEqual(2_048);
    expect(description).toMatch(/…$/);
  });
});

it('the words of the ledger have a comment for each column, which fits the catalog', () => {
  const { comments } = tableWords(LEDGER_TABLE);
  expect(Object.keys(comments)).toEqual(LEDGER_COLUMNS.map(({ name }) => name));
  for (const comment of Object.values(comments)) expect(comment).toMatch(/\.$/);
});
