import { expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';

it('fields shows the dictionary, and the columns of the tables in cdk.json', async () => {
  const { status, stdout } = await runCommand(['fields']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^spend +money +yes +contract 2\.2 +the money spent on ads$/m);
  expect(stdout).toMatch(/^ctr +ratio +no +common /m);
  expect(stdout).toMatch(/^campaign_id +contract 2\.2 +the id of the campaign$/m);
  expect(stdout).toMatch(
    /^table daily_campaigns\nThe report of acme\/daily-campaigns: one row per account, day, /m,
  );
  expect(stdout).toMatch(/^spend +decimal\(18,6\) +money +yes +The money spent on ads$/m);
});

it('fields --json is one document', async () => {
  const { stdout } = await runCommand(['fields', '--json']);
  const { outcome, metrics, dimensions, tables } = JSON.parse(stdout);
  expect(outcome).toBe('ok');
  expect(metrics).toContainEqual(expect.objectContaining({ name: 'clicks', unit: 'count', adds_up: true }));
  expect(dimensions).toContainEqual(expect.objectContaining({ name: 'event_source_id' }));
  expect(tables[0]).toMatchObject({ table: 'daily-campaigns', time_zones: { acme: 'Europe/Berlin' } });
});
