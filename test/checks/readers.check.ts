import { join } from 'node:path';
import {
  CreateDatabaseCommand,
  CreateTableCommand,
  type CreateTableCommandInput,
  GlueClient,
} from '@aws-sdk/client-glue';
import { expect, it } from 'vitest';
import { createCatalog } from '../../functions/aws/catalog.ts';
import { catalogTable } from '../../functions/workflow/catalog-table.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { TableSchema } from '../../functions/workflow/table.ts';
import { type DaySums, millionths, sumDays } from '../support/day-sums.ts';
import { awsEnvironment, setEnvironment } from '../support/lambda.ts';
import { startFastWorkflow } from '../support/run-export.ts';
import { installPython } from './python.ts';

const python = await installPython();

/** DECIMAL, BIGINT and DOUBLE. */
const METRICS = ['spend', 'impressions', 'installs'];

/** The first day is only in the first run, the last one only in the second. */
const WINDOWS = [
  { start_date: '2026-10-01', end_date: '2026-10-06' },
  { start_date: '2026-10-03', end_date: '2026-10-08' },
];

it('DuckDB and pyarrow count each day of two overlapping runs once, with the same sums', async () => {
  // The second run restates the days of both.
  const restated = { days: 10, everyHours: 1 / 36 };
  const report = { secondsToReady: 0, restated, isEmpty: (day: string) => day === '2026-10-04' };
  await using workflow = await startFastWorkflow({ now: '2026-10-08T00:00:00Z', sandbox: { report } });
  const { sandbox, out, bucket, request } = workflow;
  const account = String(request().account);
  const expected = new Map<string, DaySums>();
  for (const window of WINDOWS) {
    const shape = { name: 'daily', metrics: METRICS, dimensions: ['campaign_name'] };
    expect(await workflow.run(request({ ...shape, ...window }))).toMatchObject({ status: 'SUCCEEDED' });
    const file = sandbox.reports().at(-1)?.file.read() ?? [];
    for (const [day, sums] of sumDays(Buffer.concat([...file]).toString(), METRICS)) expected.set(day, sums);
  }
  expect([...expected.keys()].sort()).toHaveLength(6);

  const printed = await python.run('sum_table.py', join(out, bucket, 'tables', 'daily'), ...METRICS);
  const rows = [...expected].sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [reader, days] of Object.entries<string[][]>(JSON.parse(printed))) {
    const read = days.map(([owner, day, count, spend = '', impressions = '', installs]) => [
      ...[owner, day, Number(count)],
      ...[millionths(spend), BigInt(impressions) * 1_000_000n, Number(installs)],
    ]);
    expect(read, reader).toEqual(
      rows.map(([day, { rows, sums }]) => [
        ...[account, day, rows],
        ...[sums.spend, sums.impressions, expect.closeTo(Number(sums.installs) / 1e6, 9)],
      ]),
    );
  }
});

const DATABASE = 'exports';
const BUCKET = 'bucket';

const SCHEMA: TableSchema = {
  table: 'daily-spend',
  kind: 'report',
  date_column: 'day',
  requests: { acme: 'hash' },
  columns: [
    { name: 'campaign_id', type: 'string' },
    { name: 'spend', type: 'decimal(18,6)', round: true },
  ],
};

/** More than fit into one call. */
const DAYS = Array.from({ length: 130 }, (_, day) => ['acme', addDays('2026-01-01', day)]);

it("moto's Glue accepts the calls of CurateReport", async () => {
  await using server = await python.serve('glue_server.py');
  setEnvironment({ ...awsEnvironment({}), AWS_ENDPOINT_URL_GLUE: server.url });
  const glue = new GlueClient();
  await glue.send(new CreateDatabaseCommand({ DatabaseInput: { Name: DATABASE } }));
  const tableOf = (schema: TableSchema) =>
    ({ DatabaseName: DATABASE, TableInput: catalogTable(schema, BUCKET) }) as CreateTableCommandInput;
  await glue.send(new CreateTableCommand(tableOf(SCHEMA)));

  const catalog = createCatalog({ GLUE_DATABASE: DATABASE, BUCKET });
  expect(await catalog.getTable('daily-spend')).toEqual(SCHEMA);
  expect(await catalog.getTable('daily')).toBeUndefined();
  expect(await catalog.getPartitions('daily-spend', DAYS)).toEqual([]);
  for (const schema of [SCHEMA, SCHEMA, { ...SCHEMA, columns: SCHEMA.columns.slice(0, 1) }]) {
    await catalog.registerPartitions(schema, DAYS);
    const columns = schema.columns.map(({ name, type }) => ({ name, type }));
    const registered = await catalog.getPartitions('daily-spend', DAYS);
    expect(registered).toHaveLength(DAYS.length);
    expect(registered).toEqual(expect.arrayContaining(DAYS.map((values) => ({ values, columns }))));
    expect(await catalog.listPartitions('daily-spend')).toEqual(expect.arrayContaining(registered));
  }
});
