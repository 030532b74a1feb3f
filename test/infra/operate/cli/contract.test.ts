import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { startDeployedTables } from './support.ts';

beforeEach(startDeployedTables);

interface Element {
  readonly name: string;
  readonly customProperties?: readonly { readonly property: string; readonly value: unknown }[];
  readonly [field: string]: unknown;
}

function named(elements: readonly Element[], name: string): Element {
  return elements.find((element) => element.name === name) as Element;
}

function customOf({ customProperties = [] }: Element) {
  return Object.fromEntries(customProperties.map(({ property, value }) => [property, value]));
}

it('contract describes the tables of cdk.json and where Athena has them', async () => {
  const { status, stdout } = await runCommand(['contract']);
  expect(status).toBe(0);
  const { servers, schema, ...contract } = parse(stdout);
  expect(contract).toMatchObject({ apiVersion: 'v3.1.0', kind: 'DataContract', id: 'ad-report-export' });
  expect(servers).toMatchObject([
    { type: 'athena', schema: 'ads', regionName: 'eu-west-1', stagingDir: 's3://ads-bucket/query-results/' },
  ]);
  expect(schema.map(({ name }: Element) => name)).toEqual(['daily-campaigns', 'monthly-totals', 'ledger']);
  const table = named(schema, 'daily-campaigns');
  expect(table).toMatchObject({ physicalName: 'daily_campaigns', physicalType: 'table' });
  expect(customOf(table)).toEqual({
    key: ['account', 'date', 'campaign_id', 'campaign_name', 'advertiser_id'],
    timeZones: { acme: 'Europe/Berlin' },
  });
  const columns = table.properties as Element[];
  expect(named(columns, 'date')).toMatchObject({ logicalType: 'date', required: true });
  expect(named(columns, 'campaign_id')).toMatchObject({ logicalType: 'string', required: false });
  const spend = named(columns, 'spend');
  expect(spend).toMatchObject({ logicalType: 'number', physicalType: 'decimal(18,6)' });
  expect(customOf(spend)).toEqual({ unit: 'money', addsUp: true });
});

it('contract promises what ready_by does: the age of the newest report', async () => {
  const { stdout } = await runCommand(['contract']);
  const { slaProperties } = parse(stdout);
  expect(slaProperties).toMatchObject([
    // From 06:00 to 09:00 of the next day, and the hour of the change of clocks.
    {
      property: 'freshness',
      value: 28,
      unit: 'h',
      element: 'daily-campaigns.report_created_at',
      description: expect.stringContaining('delivers by 09:00 in Europe/Berlin.'),
    },
    // From the 2nd, 07:00, to the 2nd of the next month, 12:00.
    { property: 'freshness', value: 31 * 24 + 5 + 1, element: 'monthly-totals.report_created_at' },
  ]);
});

it('contract --local without a table says so', async () => {
  const out = temporaryDirectory();
  mkdirSync(join(out, 'bucket/exports'), { recursive: true });
  expect(await runCommand(['contract', '--local', '--out', out])).toMatchObject({
    status: 2,
    stderr: `error: ${out} has no tables\n`,
  });
});
