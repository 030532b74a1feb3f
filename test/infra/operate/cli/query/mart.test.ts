import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readMartResult } from '../../../../../infra/operate/cli/query/mart-result.ts';
import { checkOneQuery } from '../../../../../infra/operate/cli/query/one-query.ts';
import { json, listen } from '../../../../support/listen.ts';
import { startDeployedTables } from '../support.ts';

const SQL = 'SELECT date, spend FROM marts.daily_spend';
const ROWS = [
  ['date', 'spend'],
  ['2026-10-01', '12.500000'],
];

/** The part of Athena that a mart's query uses. */
async function startAthena() {
  const queries: string[] = [];
  const service = await listen(({ headers, body }, response) => {
    const operation = String(headers['x-amz-target']).replace('AmazonAthena.', '');
    if (operation === 'StartQueryExecution') {
      queries.push(JSON.parse(body).QueryString);
      return json(response, 200, { QueryExecutionId: 'q-1' });
    }
    const execution = { QueryExecutionId: 'q-1', StatementType: 'DML', Status: { State: 'SUCCEEDED' } };
    if (operation === 'GetQueryExecution') return json(response, 200, { QueryExecution: execution });
    const Rows = ROWS.map((row) => ({ Data: row.map((VarCharValue) => ({ VarCharValue })) }));
    const ColumnInfo = [
      { Name: 'date', Type: 'date' },
      { Name: 'spend', Type: 'decimal' },
    ];
    json(response, 200, { ResultSet: { Rows, ResultSetMetadata: { ColumnInfo } } });
  });
  await startDeployedTables();
  vi.stubEnv('AWS_ENDPOINT_URL_ATHENA', service.url);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  onTestFinished(() => service[Symbol.asyncDispose]());
  return queries;
}

describe('the query of a mart in Athena', () => {
  it('runs as a part of another one, so that it can only be a query', async () => {
    const queries = await startAthena();
    const result = await readMartResult({ sql: `${SQL};` }, { out: 'out' });
    expect(queries).toEqual([`SELECT * FROM (\n${SQL}\n) AS "mart"`]);
    expect((await Array.fromAsync(result?.rows ?? [])).flat()).toEqual([['2026-10-01', '12.500000']]);
  });

  it.each([
    'DROP TABLE daily',
    'INSERT INTO t SELECT 1',
    'CREATE TABLE t AS SELECT 1',
    'UNLOAD (SELECT 1) TO s3',
    `${SQL}; DROP TABLE daily`,
    'SELECT 1) AS a; DROP TABLE daily; SELECT * FROM (SELECT 1',
    'SELECT 1) AS a CROSS JOIN (SELECT 2',
    '-- SELECT\nDELETE FROM t',
    'WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a',
    'WITH a AS (SELECT 1), b (x) AS MATERIALIZED (SELECT 2) DELETE FROM t',
    '',
  ])('is refused before Athena sees it: %j', async (sql) => {
    const queries = await startAthena();
    const place = { out: 'out' };
    await expect(readMartResult({ sql }, place)).rejects.toMatchObject({ name: 'UsageError' });
    expect(queries).toEqual([]);
  });
});

describe('one query', () => {
  it.each([
    ['WITH a AS (SELECT 1) SELECT * FROM a', 'WITH a AS (SELECT 1) SELECT * FROM a'],
    ['  (SELECT 1) UNION (SELECT 2) ; ', '  (SELECT 1) UNION (SELECT 2) '],
    ['/* ; */ SELECT \';)\' AS "a;b" -- ; the end', '/* ; */ SELECT \';)\' AS "a;b" -- ; the end'],
    ["SELECT 'it''s;' AS a", "SELECT 'it''s;' AS a"],
    ['WITH a AS (SELECT 1) SELECT a.update FROM a', 'WITH a AS (SELECT 1) SELECT a.update FROM a'],
  ])('may be %j', (sql, expected) => {
    expect(checkOneQuery(sql)).toBe(expected);
  });
});
