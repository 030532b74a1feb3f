import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runAthenaQuery } from '../../../../../infra/operate/cli/query/athena.ts';
import type { QueryResult } from '../../../../../infra/operate/cli/query/result.ts';
import { readConfig } from '../../../../../infra/stack/config/read-config.ts';
import { runCommand } from '../../../../support/cli.ts';
import { json, listen } from '../../../../support/listen.ts';
import { STATE_MACHINE, startCloudFormation } from '../../executions/step-functions.ts';

const PLACE = { workgroup: 'exports', database: 'exports_tables', region: 'eu-west-1' };
const SELECT = 'SELECT spend, n FROM daily_campaigns';
const COLUMNS = [
  { Name: 'name', Type: 'varchar' },
  { Name: 'spend', Type: 'decimal' },
  { Name: 'n', Type: 'integer' },
  { Name: 'share', Type: 'double' },
  { Name: 'late', Type: 'boolean' },
];
const ROWS = [
  ['name', 'spend', 'n', 'share', 'late'],
  ['a', '12.500000', '3', '0.1', 'true'],
  [undefined, undefined, undefined, 'NaN', 'false'],
];

interface Options {
  /** One state of the query for each poll; the last one stays. */
  readonly states?: readonly object[];
  readonly statementType?: string;
  /** An error of StartQueryExecution. */
  readonly refused?: object;
}

/** The part of Athena that the command uses. Its pages have one row. */
async function startAthena({ states = [], statementType = 'DML', refused }: Options = {}) {
  const calls: { operation: string; parameters: Readonly<Record<string, unknown>> }[] = [];
  const left = [...states];
  const service = await listen(({ headers, body }, response) => {
    const operation = String(headers['x-amz-target']).replace('AmazonAthena.', '');
    const parameters = JSON.parse(body);
    const send = (status: number, answer: object) => json(response, status, answer);
    calls.push({ operation, parameters });
    if (operation === 'StartQueryExecution' && refused) return send(400, { ...refused });
    if (operation === 'StartQueryExecution') return send(200, { QueryExecutionId: 'q-1' });
    if (operation === 'GetQueryExecution') {
      const Status = (left.length > 1 ? left.shift() : left[0]) ?? { State: 'SUCCEEDED' };
      const Statistics = { DataScannedInBytes: 1234 };
      const QueryExecution = { QueryExecutionId: 'q-1', StatementType: statementType, Status, Statistics };
      return send(200, { QueryExecution });
    }
    if (operation !== 'GetQueryResults') return send(200, {});
    const at = Number(parameters.NextToken ?? 0);
    const Data = ROWS[at]?.map((VarCharValue) => ({ VarCharValue }));
    const ResultSet = { Rows: [{ Data }], ResultSetMetadata: { ColumnInfo: COLUMNS } };
    send(200, { ResultSet, ...(at + 1 < ROWS.length && { NextToken: String(at + 1) }) });
  });
  vi.stubEnv('AWS_ENDPOINT_URL_ATHENA', service.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  onTestFinished(() => service[Symbol.asyncDispose]());
  return { calls };
}

async function rowsOf(result: QueryResult | undefined) {
  return (await Array.fromAsync(result?.rows ?? [])).flat();
}

describe('a query of the deployed tables', () => {
  it("runs in the stack's workgroup and database, and has the rows of all pages", async () => {
    const states = [{ State: 'QUEUED' }, { State: 'RUNNING' }, { State: 'SUCCEEDED' }];
    const { calls } = await startAthena({ states });
    const result = await runAthenaQuery(SELECT, PLACE, 1);
    expect(await rowsOf(result)).toEqual([
      ['a', '12.500000', 3, 0.1, true],
      [null, null, null, 'NaN', false],
    ]);
    expect(result?.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      ...['name varchar', 'spend decimal', 'n integer', 'share double', 'late boolean'],
    ]);
    expect(result?.notes).toEqual(['Athena read 1234 bytes']);
    expect(calls[0]?.parameters).toMatchObject({
      QueryString: SELECT,
      WorkGroup: PLACE.workgroup,
      QueryExecutionContext: { Database: PLACE.database },
    });
    expect(calls.filter(({ operation }) => operation === 'GetQueryExecution')).toHaveLength(3);
  });

  it('has every row of a statement that sends no row of names', async () => {
    await startAthena({ statementType: 'UTILITY' });
    expect(await rowsOf(await runAthenaQuery('SHOW TABLES', PLACE, 1))).toHaveLength(3);
  });

  it.each(['FAILED', 'CANCELLED'])('that ends %s fails with the reason and the next step', async (State) => {
    await startAthena({ states: [{ State, StateChangeReason: 'Bytes scanned limit was exceeded' }] });
    await expect(runAthenaQuery(SELECT, PLACE, 1)).rejects.toMatchObject({
      name: 'CommandFailed',
      happened: 'Bytes scanned limit was exceeded',
      todo: expect.stringContaining('A condition on date makes it read less'),
    });
  });

  it.each([
    ['HIVE_BAD_DATA', 'see TableProblems'],
    ['HIVE_CURSOR_ERROR', 'Repeat the query'],
    ['HIVE_METASTORE_ERROR', 'Correct the query'],
  ])('that ends with %s says what to do: %s', async (code, todo) => {
    const failed = { State: 'FAILED', StateChangeReason: `${code}: s3://bucket/tables/x.parquet` };
    await startAthena({ states: [failed] });
    const end = runAthenaQuery(SELECT, PLACE, 1);
    await expect(end).rejects.toMatchObject({ todo: expect.stringContaining(todo) });
  });

  const denied = 'AWS could not run the query (AccessDeniedException): User x may not.';
  it.each([
    ['InvalidRequestException', "line 1:1: mismatched input 'SELEC'", 'Correct the query.'],
    ['InvalidRequestException', 'WorkGroup exports is not found.', 'Deploy the stack with tables'],
    ['AccessDeniedException', 'User x may not', 'AdReportExportReaderPolicyArn', denied],
  ])('that AWS refuses with %s, %s, fails with plain words', async (__type, message, todo, happened = message) => {
    await startAthena({ refused: { __type, message, Message: message } });
    await expect(runAthenaQuery(SELECT, PLACE, 1)).rejects.toMatchObject({
      name: 'CommandFailed',
      happened,
      todo: expect.stringContaining(todo),
    });
  });
});

describe('the command', () => {
  const run = async (outputs: Parameters<typeof startCloudFormation>[1]) => {
    await startCloudFormation(readConfig().stack, outputs);
    return runCommand(['query', '--json', SELECT]);
  };

  it("finds the workgroup, the database and the Region in the deployed stack's outputs", async () => {
    const { calls } = await startAthena();
    const { status, stdout, stderr } = await run({
      stateMachine: STATE_MACHINE,
      workgroup: 'exports',
      database: 'exports_tables',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '2 rows\nAthena read 1234 bytes\n' });
    expect(JSON.parse(stdout).rows).toHaveLength(2);
    expect(calls[0]?.parameters).toMatchObject({ WorkGroup: 'exports' });
  });

  it('exits 2 if the stack has no tables', async () => {
    await startAthena();
    const { status, stdout } = await run({ stateMachine: STATE_MACHINE });
    expect(status).toBe(2);
    expect(JSON.parse(stdout).faults).toEqual([
      expect.stringContaining('has no AdReportExportAthenaWorkgroup'),
    ]);
  });
});
