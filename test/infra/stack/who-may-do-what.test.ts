import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { permissionsOf, resourcesOf, synthesizeStack } from '../../support/stack.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const PLATFORM = read('infra/PLATFORM.md');
const RUNBOOK = read('infra/RUNBOOK.md');

const runs = [{ period: 'yesterday', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
const exports = [{ name: 'daily', metrics: ['spend'], runs }];
const stack = synthesizeStack({ exports, kms_key: 'create' });

/** The managed policies, by the output that PLATFORM.md names. */
const POLICIES = { operator: 'Operator', keeper: 'Keeper', reader: 'TablesReader' } as const;
type Policy = keyof typeof POLICIES;

/** The permissions of a policy without conditions, such as `states:StartExecution <WorkflowStateMachine>`. */
function allowedBy(policy: Policy): string[] {
  const managed = resourcesOf(stack, 'AWS::IAM::ManagedPolicy').get(POLICIES[policy]);
  const lines = permissionsOf(managed?.Properties.PolicyDocument.Statement);
  return lines.map((line) => line.replace(/ when .*/, '').replace(/\{"Fn::Select".*?\]\}\]\}/g, 'NAME'));
}

const MACHINE = '<WorkflowStateMachine>';
const STATES = 'arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>';
const EXECUTIONS = `${STATES}:execution:NAME:*`;
const WINDOWS = `${STATES}:execution:NAME/*:*`;
const MAP_RUNS = `${STATES}:mapRun:NAME/*:*`;
const BUCKET = '<ExportsBucket.Arn>';
const OBJECTS = `${BUCKET}/exports/*`;
const TABLES = `${BUCKET}/tables/*`;
const LEASES = `${BUCKET}/leases/*`;
const QUEUE = '<SchedulesDeadLetterQueue.Arn>';
const CREDENTIALS =
  'arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:exports-test/*/credential-??????';
const DECRYPT = 'kms:Decrypt <Key.Arn>';

const FINDS = [
  'cloudformation:DescribeStacks arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/exports-test/*',
];
const READS_FILES = [
  ...[...FINDS, `s3:ListBucket ${BUCKET}`, `s3:GetObject ${OBJECTS}`],
  ...[`s3:GetObjectVersion ${OBJECTS}`, `s3:GetObject ${TABLES}`, DECRYPT],
];
const FOLLOWS = [
  ...[...FINDS, `states:StartExecution ${MACHINE}`, `states:DescribeExecution ${EXECUTIONS}`, DECRYPT],
  ...[`states:ListMapRuns ${EXECUTIONS}`, `states:DescribeMapRun ${MAP_RUNS}`],
  `states:GetExecutionHistory ${EXECUTIONS}`,
];
const EXPLAINS = [
  ...[...FOLLOWS, `states:ListExecutions ${MAP_RUNS}`, `states:DescribeExecution ${WINDOWS}`],
];
const HAS_LEASE = [...FINDS, `s3:GetObject ${LEASES}`, `s3:PutObject ${LEASES}`];
const STORES_CREDENTIALS = [
  ...[...HAS_LEASE, 'kms:GenerateDataKey <Key.Arn>', DECRYPT],
  ...[`secretsmanager:GetSecretValue ${CREDENTIALS}`, `secretsmanager:PutSecretValue ${CREDENTIALS}`],
];
const READS_SCHEMA =
  'glue:GetTable arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:table/exports_test/*';
const WRITES_TABLES = [
  ...READS_FILES,
  `s3:PutObject ${TABLES}`,
  READS_SCHEMA,
  'kms:GenerateDataKey <Key.Arn>',
];

const LISTS_RUNS = [...READS_FILES, `states:ListExecutions ${MACHINE}`];
const DESCRIBES_RUNS = [...LISTS_RUNS, `states:DescribeExecution ${EXECUTIONS}`];

interface Need {
  /** None: it calls nothing of AWS. */
  readonly by?: Policy;
  readonly calls: readonly string[];
}

const COMMANDS: Readonly<Record<string, Need>> = {
  plan: { by: 'operator', calls: READS_FILES },
  run: { by: 'operator', calls: FOLLOWS },
  resume: { by: 'operator', calls: FOLLOWS },
  status: { by: 'operator', calls: DESCRIBES_RUNS },
  missing: { by: 'operator', calls: LISTS_RUNS },
  check: { by: 'operator', calls: READS_FILES },
  page: { by: 'operator', calls: DESCRIBES_RUNS },
  explain: { by: 'operator', calls: EXPLAINS },
  stop: { by: 'operator', calls: [...FINDS, `states:StopExecution ${EXECUTIONS}`] },
  contract: { by: 'operator', calls: FINDS },
  query: { by: 'reader', calls: [...FINDS, `s3:GetObject ${TABLES}`, DECRYPT] },
  close: { by: 'keeper', calls: WRITES_TABLES },
  rebuild: { by: 'keeper', calls: WRITES_TABLES },
  doctor: { by: 'keeper', calls: STORES_CREDENTIALS },
  login: { by: 'keeper', calls: STORES_CREDENTIALS },
  secret: { by: 'keeper', calls: STORES_CREDENTIALS },
  dbt: { calls: [] },
  init: { calls: [] },
  sandbox: { calls: [] },
};

/** The calls that the runbook writes, such as `aws sqs receive-message`. */
const RUNBOOK_CALLS: Readonly<Record<string, Need>> = {
  'cloudformation describe-stacks': { by: 'operator', calls: FINDS },
  's3api get-bucket-encryption': { by: 'operator', calls: [`s3:GetEncryptionConfiguration ${BUCKET}`] },
  'logs describe-log-groups': {
    by: 'operator',
    calls: ['logs:DescribeLogGroups arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:*'],
  },
  'logs filter-log-events': { by: 'operator', calls: ['logs:FilterLogEvents <FunctionsLogs.Arn>'] },
  'stepfunctions list-map-runs': { by: 'operator', calls: [`states:ListMapRuns ${EXECUTIONS}`] },
  'stepfunctions list-executions': {
    by: 'operator',
    calls: [MACHINE, MAP_RUNS, '<ReadyChecksStateMachine>'].map((of) => `states:ListExecutions ${of}`),
  },
  'stepfunctions redrive-execution': { by: 'operator', calls: [`states:RedriveExecution ${EXECUTIONS}`] },
  'stepfunctions get-execution-history': {
    by: 'operator',
    calls: [EXECUTIONS, WINDOWS].map((of) => `states:GetExecutionHistory ${of}`),
  },
  'stepfunctions describe-execution': {
    by: 'operator',
    calls: [`states:DescribeExecution ${EXECUTIONS}`, DECRYPT],
  },
  'stepfunctions stop-execution': { by: 'operator', calls: [`states:StopExecution ${EXECUTIONS}`] },
  'kms describe-key': { by: 'operator', calls: ['kms:DescribeKey <Key.Arn>'] },
  'lambda get-account-settings': { by: 'operator', calls: ['lambda:GetAccountSettings *'] },
  'cloudwatch describe-alarms': { by: 'operator', calls: ['cloudwatch:DescribeAlarms *'] },
  'scheduler list-schedules': { by: 'operator', calls: ['scheduler:ListSchedules *'] },
  'sqs receive-message': { by: 'operator', calls: [`sqs:ReceiveMessage ${QUEUE}`, DECRYPT] },
  'sqs delete-message': { by: 'operator', calls: [`sqs:DeleteMessage ${QUEUE}`] },
  's3api list-object-versions': { by: 'keeper', calls: [`s3:ListBucketVersions ${BUCKET}`] },
  's3api copy-object': {
    by: 'keeper',
    calls: [`s3:GetObjectVersion ${TABLES}`, `s3:PutObject ${TABLES}`, 'kms:GenerateDataKey <Key.Arn>'],
  },
  's3 rm': { by: 'keeper', calls: [`s3:DeleteObject ${TABLES}`] },
};

function lackingIn({ by, calls }: Need): string[] {
  const allowed = by === undefined ? [] : allowedBy(by);
  return calls.filter((call) => !allowed.includes(call));
}

describe('one managed policy allows', () => {
  it('what each command calls', () => {
    const lacking = Object.entries(COMMANDS).map(([command, need]) => [command, lackingIn(need)]);
    expect(Object.fromEntries(lacking)).toEqual(
      Object.fromEntries(Object.keys(COMMANDS).map((command) => [command, []])),
    );
    const [, table = ''] = read('infra/COMMANDS.md').split('\n|---|---|\n');
    const [rows = ''] = table.split('\n\n');
    const named = [...rows.matchAll(/^\| `(\w+)[^`]*` \|/gm)].map(([, command = '']) => command);
    expect(Object.keys(COMMANDS).sort()).toEqual(named.sort());
  });

  it('each call of AWS in the runbook', () => {
    const lacking = Object.entries(RUNBOOK_CALLS).map(([call, need]) => [call, lackingIn(need)]);
    expect(Object.fromEntries(lacking)).toEqual(
      Object.fromEntries(Object.keys(RUNBOOK_CALLS).map((call) => [call, []])),
    );
    const written = [...RUNBOOK.matchAll(/aws ([a-z0-9]+ [a-z][a-z-]+)/g)].map(([, call = '']) => call);
    expect(Object.keys(RUNBOOK_CALLS).sort()).toEqual([...new Set(written)].sort());
  });

  it('the calls of the runbook for executions of the checks of ready_by', () => {
    const document = resourcesOf(stack, 'AWS::IAM::ManagedPolicy').get(POLICIES.operator)?.Properties;
    const ofChecks = permissionsOf(document?.PolicyDocument.Statement).filter((line) =>
      line.includes('<ReadyChecksStateMachine>'),
    );
    const actions = ofChecks.map((line) => line.split(' ')[0]);
    expect(actions).toEqual(
      expect.arrayContaining(['states:ListExecutions', 'states:DescribeExecution', 'states:StopExecution']),
    );
  });
});

it.each([
  ['operator', 'AdReportExportOperatorPolicyArn'],
  ['keeper', 'AdReportExportKeeperPolicyArn'],
  ['reader', 'AdReportExportReaderPolicyArn'],
] as const)('the reference names each command beside the policy of the %s', (policy, output) => {
  const [row = ''] = PLATFORM.split('\n').filter((line) => line.includes(`\`${output}\``));
  const commands = Object.keys(COMMANDS).filter((command) => COMMANDS[command]?.by === policy);
  expect(commands.length).toBeGreaterThan(0);
  expect(commands.filter((command) => !row.includes(`\`${command}\``))).toEqual([]);
});

it('an operator can read no secret and write no object, and a keeper can start nothing', () => {
  const writes = allowedBy('operator').filter((line) => /^(secretsmanager:|s3:(Put|Delete))/.test(line));
  const starts = allowedBy('keeper').filter((line) => /^(states|sqs|lambda):/.test(line));
  expect({ writes, starts }).toEqual({ writes: [], starts: [] });
  expect([...allowedBy('operator'), ...allowedBy('keeper')].join('\n')).not.toContain('/token-');
});
