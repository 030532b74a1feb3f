import { setTimeout as wait } from 'node:timers/promises';
import {
  AthenaClient,
  GetQueryExecutionCommand,
  GetQueryResultsCommand,
  InvalidRequestException,
  type QueryExecution,
  StartQueryExecutionCommand,
  StopQueryExecutionCommand,
} from '@aws-sdk/client-athena';
import { count } from '../../../../functions/workflow/count.ts';
import { readDeployment, requireOutput } from '../../place/deployment.ts';
import { CommandFailed, createAwsFailure, toPrintable } from '../../place/errors.ts';
import { INTERRUPTED } from '../exit-status.ts';
import { catchInterrupt } from '../interrupt.ts';
import type { QueryResult, Value } from './result.ts';

/** A query takes seconds, and a person waits. */
const POLL_EVERY_MS = 1_000;

const PERMISSIONS = "what the managed policy of the stack's output AdReportExportReaderPolicyArn allows";

/** The advice after a query that failed, by Athena's message. */
const ADVICE: readonly (readonly [message: RegExp, todo: string])[] = [
  // The workgroup was deleted or disabled, or this user may not write to the bucket of its results.
  [
    /work ?group|output (location|bucket)/i,
    `Deploy the stack with tables, which makes the workgroup, or give another --stack. Your AWS user or role needs ${PERMISSIONS}.`,
  ],
  // Athena cannot open or read an object: a run replaced it during the query, or it is damaged.
  [
    /^HIVE_(FILESYSTEM_ERROR|CANNOT_OPEN_SPLIT|CURSOR_ERROR|BAD_DATA)/,
    'Repeat the query when no export writes the table. If it fails again, the object is damaged: see TableProblems in infra/RUNBOOK.md.',
  ],
  [
    /^/,
    "Correct the query. 'SHOW TABLES' lists the tables, and 'DESCRIBE <table>' the columns of one. A condition on date makes it read less.",
  ],
];

/** Finds the tables of the deployed stack. @throws UsageError if there is no stack with tables */
export async function readAthenaPlace() {
  const deployment = await readDeployment();
  const workgroup = requireOutput(deployment, 'workgroup');
  return { workgroup, database: requireOutput(deployment, 'database'), region: deployment.region };
}

/**
 * Runs a query in Athena.
 *
 * @returns undefined if Ctrl-C stopped the query
 * @throws CommandFailed with Athena's message if the query fails, or if AWS refuses a call
 */
export async function runAthenaQuery(
  sql: string,
  { workgroup: WorkGroup, database: Database, region }: Awaited<ReturnType<typeof readAthenaPlace>>,
  pollEvery = POLL_EVERY_MS,
): Promise<QueryResult | undefined> {
  const athena = new AthenaClient({ region });
  const start = { QueryString: sql, WorkGroup, QueryExecutionContext: { Database } };
  try {
    const { QueryExecutionId = '' } = await athena.send(new StartQueryExecutionCommand(start));
    const execution = await followQuery(athena, QueryExecutionId, pollEvery);
    return execution && (await readQueryResult(athena, execution));
  } catch (error) {
    throw toCommandFailed(error);
  }
}

function toCommandFailed(error: unknown): CommandFailed {
  if (error instanceof InvalidRequestException) return queryFailed(error.message);
  return error instanceof CommandFailed ? error : createAwsFailure(error, 'run the query', PERMISSIONS);
}

function queryFailed(reason: string): CommandFailed {
  const [, todo = ''] = ADVICE.find(([message]) => message.test(reason)) ?? [];
  return new CommandFailed(toPrintable(reason), todo);
}

/** @returns the query that succeeded; undefined if Ctrl-C stopped it */
async function followQuery(
  athena: AthenaClient,
  id: string,
  every: number,
): Promise<QueryExecution | undefined> {
  using interrupt = catchInterrupt();
  const { signal } = interrupt;
  while (!signal.aborted) {
    const describe = new GetQueryExecutionCommand({ QueryExecutionId: id });
    const { QueryExecution = {} } = await athena.send(describe);
    const { State = '', StateChangeReason = State } = QueryExecution.Status ?? {};
    if (State === 'SUCCEEDED') return QueryExecution;
    if (State === 'FAILED' || State === 'CANCELLED') throw queryFailed(StateChangeReason);
    await wait(every, undefined, { signal }).catch(() => undefined);
  }
  await athena.send(new StopQueryExecutionCommand({ QueryExecutionId: id }));
  process.stderr.write('Stopped the query.\n');
  process.exitCode = INTERRUPTED;
  return undefined;
}

async function readQueryResult(
  athena: AthenaClient,
  { QueryExecutionId, StatementType, Statistics }: QueryExecution,
): Promise<QueryResult> {
  const readPage = (NextToken?: string) =>
    athena.send(new GetQueryResultsCommand({ QueryExecutionId, NextToken }));
  const first = await readPage();
  const columns = first.ResultSet?.ResultSetMetadata?.ColumnInfo ?? [];
  async function* readRows() {
    // The first row of a SELECT holds the names of the columns. SHOW and DESCRIBE have no such row.
    let names = StatementType === 'DML' ? 1 : 0;
    for (let page = first; ; names = 0) {
      yield (page.ResultSet?.Rows ?? [])
        .slice(names)
        .map(({ Data = [] }) => columns.map(({ Type = '' }, at) => readValue(Type, Data[at]?.VarCharValue)));
      if (page.NextToken === undefined) return;
      page = await readPage(page.NextToken).catch((error) => Promise.reject(toCommandFailed(error)));
    }
  }
  return {
    columns: columns.map(({ Label, Name, Type = '' }) => ({ name: Label ?? Name ?? '', type: Type })),
    rows: readRows(),
    notes: [`Athena read ${count(Statistics?.DataScannedInBytes ?? 0, 'byte')}`],
  };
}

/** Athena sends every value as text, and NULL as nothing. */
function readValue(type: string, text: string | undefined): Value {
  if (text === undefined) return null;
  if (type === 'boolean') return text === 'true';
  const number = /^(tinyint|smallint|integer|float|real|double)$/.test(type) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : text;
}
