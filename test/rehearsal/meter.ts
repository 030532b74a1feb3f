import { Athena } from '@aws-sdk/client-athena';
import { type ListObjectVersionsCommandOutput, S3 } from '@aws-sdk/client-s3';
import { paginateGetExecutionHistory, paginateListExecutions, SFN } from '@aws-sdk/client-sfn';
import type { AwsCli } from './aws-cli.ts';
import type { Usage } from './bill.ts';
import type { DeployedStage } from './stage.ts';

/** Athena charges a query for this many bytes at least. */
const MIN_SCANNED = 10_000_000;

/** Measures what a stack has used since it is there. A state machine that is deleted tells nothing more. */
export async function measureUsage(stage: DeployedStage, since: Date): Promise<Usage> {
  const { aws, names, outputs } = stage;
  const transitions = [outputs.stateMachine, outputs.readyChecks].map(countTransitions);
  const functions = (await listFunctions(aws)).filter(({ name }) => name.startsWith(names.stack));
  const alarms = await aws.call(['cloudwatch', 'describe-alarms', '--alarm-name-prefix', `${names.stack}-`]);
  const filters = ['--filters', `Key=name,Values=${names.stack}`];
  const { SecretList } = await aws.call(['secretsmanager', 'list-secrets', ...filters]);
  return {
    hours: (Date.now() - since.getTime()) / 3_600_000,
    transitions: sum(await Promise.all(transitions)),
    ...(await measureFunctions(aws, functions, since)),
    puts: await countVersions(outputs.bucket),
    ...(await measureQueries(outputs.workgroup)),
    secrets: SecretList.length,
    alarms: alarms.MetricAlarms.length,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0);
}

/** The states that all executions have entered, those of windows too. */
async function countTransitions(stateMachineArn: string): Promise<number> {
  const client = new SFN();
  let count = 0;
  const countAll = async (of: { stateMachineArn: string } | { mapRunArn: string }): Promise<void> => {
    for await (const { executions = [] } of paginateListExecutions({ client }, of))
      for (const { executionArn } of executions) {
        for await (const { events = [] } of paginateGetExecutionHistory({ client }, { executionArn }))
          count += events.filter(({ type = '' }) => type.endsWith('StateEntered')).length;
        const isWindow = 'mapRunArn' in of;
        const { mapRuns = [] } = isWindow ? {} : await client.listMapRuns({ executionArn });
        for (const { mapRunArn = '' } of mapRuns) await countAll({ mapRunArn });
      }
  };
  await countAll({ stateMachineArn });
  return count;
}

interface FunctionSize {
  readonly name: string;
  readonly gigabytes: number;
}

async function listFunctions({ call }: AwsCli): Promise<FunctionSize[]> {
  const { Functions } = await call(['lambda', 'list-functions']);
  return Functions.map(({ FunctionName, MemorySize }: { FunctionName: string; MemorySize: number }) => ({
    name: FunctionName,
    gigabytes: MemorySize / 1024,
  }));
}

const OF_LAMBDA = ['Invocations', 'Duration'] as const;

/** By the metrics of Lambda, which come a minute or two later. */
async function measureFunctions({ call }: AwsCli, functions: readonly FunctionSize[], since: Date) {
  const queries = functions.flatMap(({ name }, index) =>
    OF_LAMBDA.map((MetricName) => {
      const Dimensions = [{ Name: 'FunctionName', Value: name }];
      const Metric = { Namespace: 'AWS/Lambda', MetricName, Dimensions };
      return { Id: `${MetricName.toLowerCase()}${index}`, MetricStat: { Metric, Period: 300, Stat: 'Sum' } };
    }),
  );
  const { MetricDataResults } = await call([
    ...['cloudwatch', 'get-metric-data', '--metric-data-queries', JSON.stringify(queries)],
    ...['--start-time', since.toISOString(), '--end-time', new Date().toISOString()],
  ]);
  const totals = new Map<string, number>(
    MetricDataResults.map(({ Id, Values }: { Id: string; Values: number[] }) => [Id, sum(Values)]),
  );
  const seconds = functions.map((_, index) => (totals.get(`duration${index}`) ?? 0) / 1_000);
  return {
    calls: sum(functions.map((_, index) => totals.get(`invocations${index}`) ?? 0)),
    gigabyteSeconds: sum(functions.map(({ gigabytes }, index) => gigabytes * (seconds[index] ?? 0))),
  };
}

async function countVersions(Bucket: string): Promise<number> {
  const client = new S3({ forcePathStyle: true });
  let count = 0;
  let next: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {};
  while (next) {
    const page: ListObjectVersionsCommandOutput = await client.listObjectVersions({
      Bucket,
      ...next,
    });
    count += page.Versions?.length ?? 0;
    next = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
      : undefined;
  }
  return count;
}

async function measureQueries(WorkGroup: string): Promise<Pick<Usage, 'queries' | 'scannedBytes'>> {
  const client = new Athena();
  const pages = await Array.fromAsync(client.paginateListQueryExecutions({ WorkGroup }));
  const ids = pages.flatMap(({ QueryExecutionIds = [] }) => QueryExecutionIds);
  const scanned = await Promise.all(
    ids.map(async (QueryExecutionId) => {
      const { QueryExecution } = await client.getQueryExecution({ QueryExecutionId });
      return Math.max(QueryExecution?.Statistics?.DataScannedInBytes ?? 0, MIN_SCANNED);
    }),
  );
  return { queries: ids.length, scannedBytes: sum(scanned) };
}
