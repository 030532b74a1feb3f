import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { StepName } from '../../../infra/stack/config/memory.ts';
import { allowedIn, permissionsOf, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

const stack = synthesizeStack();
const roles = resourcesOf(stack, 'AWS::IAM::Role');
const policies = [...resourcesOf(stack, 'AWS::IAM::Policy').values()];
const allowed = (role: string) => allowedIn(stack, role);

/** Every function may write to the functions' log group. */
const LOGGING = ['logs:CreateLogStream', 'logs:PutLogEvents'].map(
  (action) => `${action} <FunctionsLogs.Arn>`,
);

const READS_SCHEMAS = ['catalog', 'database/exports_test', 'table/exports_test/*'].map(
  (resource) => `glue:GetTable arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:${resource}`,
);

/** One pattern for all accounts, so that no policy grows with their number. */
const SECRETS = 'arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:exports-test/*';
const CREDENTIALS = `${SECRETS}/credential-??????`;
const TOKENS = `${SECRETS}/token-??????`;
const READ_TOKENS = [`secretsmanager:GetSecretValue ${TOKENS}`];
const OBJECTS = '<ExportsBucket.Arn>/exports/*';
const TABLES = '<ExportsBucket.Arn>/tables/*';
const FAILURES = `${OBJECTS}/_failure.json`;
const RUNS = `${OBJECTS}/_runs/*`;
const LISTS = `${OBJECTS}/_advertisers/*`;
const PAGES = '<ExportsBucket.Arn>/_pages/*';
const LEASES = '<ExportsBucket.Arn>/leases/*';
const MANIFESTS = `${OBJECTS}/_manifest.json`;

const FINDS_STACK = ['DescribeStackResources', 'DescribeStacks'].map(
  (action) =>
    `cloudformation:${action} arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/exports-test/*`,
);

const STORES_REPORTS = [
  ...READ_TOKENS,
  `s3:AbortMultipartUpload ${OBJECTS}`,
  `s3:ListMultipartUploadParts ${OBJECTS}`,
  `s3:PutObject ${OBJECTS}`,
  `s3:PutObjectTagging ${OBJECTS}`,
  ...[FAILURES, MANIFESTS, RUNS, LISTS].flatMap((others) => [
    `deny s3:PutObject ${others}`,
    `deny s3:PutObjectTagging ${others}`,
  ]),
];
const READS_FILES = [
  // Without it, S3 answers 403 instead of 404 for a raw object that is gone, or for an absent month.
  's3:ListBucket <ExportsBucket.Arn>',
  `s3:GetObject ${OBJECTS}`,
  `s3:GetObjectVersion ${OBJECTS}`,
];
/** Manifests, and what the tables show. */
const READS_DAYS = [
  ...READS_FILES,
  `s3:GetObject ${TABLES}`,
  `s3:GetObjectVersion ${TABLES}`,
  ...READS_SCHEMAS,
];
const PERMISSIONS: Readonly<Record<StepName, readonly string[]>> = {
  PlanExport: [...READS_DAYS, `s3:DeleteObject ${RUNS}`, `s3:PutObject ${RUNS}`],
  GetToken: [
    ...['GetSecretValue', 'PutSecretValue'].map((action) => `secretsmanager:${action} ${CREDENTIALS}`),
    ...READ_TOKENS,
    `secretsmanager:PutSecretValue ${TOKENS}`,
    `s3:GetObject ${LEASES}`,
    `s3:PutObject ${LEASES}`,
  ],
  ListAdvertisers: [
    ...READ_TOKENS,
    // The lists that manifests name, and the first day that was exported.
    `s3:GetObject ${MANIFESTS}`,
    's3:ListBucket <ExportsBucket.Arn>',
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action) => `s3:${action} ${LISTS}`),
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action) => `s3:${action} ${PAGES}`),
  ],
  CreateReport: [...READ_TOKENS, `s3:GetObject ${LISTS}`],
  CheckReport: READ_TOKENS,
  SaveReport: STORES_REPORTS,
  QueryPurchases: STORES_REPORTS,
  ExportList: [
    ...STORES_REPORTS,
    // Pages that one call could not read to the end.
    's3:ListBucket <ExportsBucket.Arn>',
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action) => `s3:${action} ${PAGES}`),
  ],
  CurateReport: [...READS_FILES, `s3:GetObject ${TABLES}`, `s3:PutObject ${TABLES}`, ...READS_SCHEMAS],
  PublishWindow: [
    's3:ListBucket <ExportsBucket.Arn>',
    ...['GetObject', 'GetObjectVersion', 'PutObject'].map((action) => `s3:${action} ${MANIFESTS}`),
  ],
  PublishExport: [
    `s3:DeleteObject ${RUNS}`,
    `s3:GetObject ${RUNS}`,
    `s3:GetObjectVersion ${RUNS}`,
    's3:GetObject <ExportsBucket.Arn>/tables/ledger/*',
    's3:GetObjectVersion <ExportsBucket.Arn>/tables/ledger/*',
    's3:ListBucket <ExportsBucket.Arn>',
  ],
  DescribeFailure: [`s3:PutObject ${FAILURES}`],
  CheckReady: READS_DAYS,
};

const EXECUTIONS = 'arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:NAME';

/** Shortens the name of the state machine, as its ARN has it. */
function withMachine(line: string): string {
  return line.replace(/\{"Fn::Select":\[6,\{"Fn::Split":\[":","<WorkflowStateMachine>"\]\}\]\}/, 'NAME');
}

/** The permissions of a managed policy. */
function managed(id: string): string[] {
  const policy = resourcesOf(stack, 'AWS::IAM::ManagedPolicy').get(id);
  return permissionsOf(policy?.Properties.PolicyDocument.Statement);
}

describe('permissions', () => {
  it.each(Object.entries(PERMISSIONS))('let %s do what its calls need and no more', (step, actions) => {
    expect(allowed(`Functions${step}Role`)).toEqual([...LOGGING, ...actions].sort());
  });

  it('let CurateReport read reports and nothing else in a stack without tables', () => {
    expect(allowedIn(synthesizeStack({ tables: false }), 'FunctionsCurateReportRole')).toEqual(
      [...LOGGING, ...READS_FILES].sort(),
    );
  });

  it('let the state machine call its functions, announce, log, trace, and start its own executions', () => {
    const all = [...resourcesOf(stack, 'AWS::Lambda::Function').keys()];
    const functions = all.filter((id) => id !== 'FunctionsCheckReady');
    const actions = allowed('WorkflowStateMachineRole');
    const invocations = functions.flatMap((id) => [`<${id}.Arn>`, `<${id}.Arn>:*`]);
    expect(actions.filter((line) => line.startsWith('lambda:'))).toEqual(
      invocations.map((target) => `lambda:InvokeFunction ${target}`).sort(),
    );
    expect(actions.filter((line) => line.startsWith('states:StartExecution'))).toEqual([
      'states:StartExecution <WorkflowStateMachine>',
    ]);
    const events = 'arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>';
    const rule = `${events}:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule`;
    expect(actions.filter((line) => line.startsWith('events:'))).toEqual([
      `events:DescribeRule ${rule}`,
      `events:PutEvents ${events}:event-bus/default when {"ForAllValues:StringEquals":{"events:source":"ad-report-export"}}`,
      `events:PutRule ${rule}`,
      `events:PutTargets ${rule}`,
    ]);
    // Without the rule, Step Functions refuses to create or update the state machine.
    const machine = resourcesOf(stack, 'AWS::StepFunctions::StateMachine').get('WorkflowStateMachine');
    const before = machine?.DependsOn?.map((id) => stack.template.Resources[id].Properties);
    expect(JSON.stringify(before)).toContain('StepFunctionsGetEventsForStepFunctionsExecutionRule');
    const anywhere = actions.filter((line) => line.endsWith(' *')).map((line) => line.split(':', 1)[0]);
    expect([...new Set(anywhere)]).toEqual(['logs', 'xray']);
    expect(actions.filter((line) => /^(s3|secretsmanager|sqs|iam):/.test(line))).toEqual([]);
  });

  it('let the state machine describe and stop its executions and their child executions', () => {
    const executions = allowed('WorkflowStateMachineRole').filter((line) =>
      /^states:(Describe|Stop)Execution /.test(line),
    );
    expect(executions.map(withMachine)).toEqual(
      ['Describe', 'Stop'].flatMap((verb) => [
        `states:${verb}Execution ${EXECUTIONS}/*:*`,
        `states:${verb}Execution ${EXECUTIONS}:*`,
      ]),
    );
  });

  it('let schedules start the state machine and send to the dead-letter queue', () => {
    expect(allowed('SchedulesRole')).toEqual([
      'sqs:SendMessage <SchedulesDeadLetterQueue.Arn>',
      'states:StartExecution <WorkflowStateMachine>',
    ]);
    expect(readable(roles.get('SchedulesRole')?.Properties.AssumeRolePolicyDocument.Statement)).toEqual([
      {
        Action: 'sts:AssumeRole',
        Condition: {
          StringEquals: { 'aws:SourceAccount': '<AWS::AccountId>', 'aws:SourceArn': '<SchedulesGroup.Arn>' },
        },
        Effect: 'Allow',
        Principal: { Service: 'scheduler.amazonaws.com' },
      },
    ]);
  });

  it('let whoever has the managed policy query the tables in the workgroup, and nothing else', () => {
    const policy = resourcesOf(stack, 'AWS::IAM::ManagedPolicy').get('TablesReader');
    // IAM has no Regions, so another Region's stack would have the same name.
    expect(readable(policy?.Properties.ManagedPolicyName)).toBe('exports-test-reader-<AWS::Region>');
    const glue = 'arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>';
    const results = '<ExportsBucket.Arn>/query-results/*';
    const queries = ['StartQueryExecution', 'StopQueryExecution', 'GetQueryExecution', 'GetQueryResults'];
    const history = ['GetQueryResultsStream', 'BatchGetQueryExecution', 'ListQueryExecutions'];
    const saved = ['GetWorkGroup', 'ListNamedQueries', 'GetNamedQuery', 'BatchGetNamedQuery'];
    const metadata = ['GetDatabase', 'ListTableMetadata', 'GetTableMetadata', 'GetDataCatalog'];
    const lists = ['ListEngineVersions', 'ListWorkGroups', 'ListDataCatalogs', 'ListDatabases'];
    const workgroup =
      'arn:<AWS::Partition>:athena:<AWS::Region>:<AWS::AccountId>:workgroup/<TablesWorkgroup>';
    const tables = [`${glue}:catalog`, `${glue}:database/exports_test`, `${glue}:table/exports_test/*`];
    expect(permissionsOf(policy?.Properties.PolicyDocument.Statement)).toEqual(
      [
        ...[...queries, ...history, ...saved].map((action) => `athena:${action} ${workgroup}`),
        ...[...lists, ...metadata].map((action) => `athena:${action} *`),
        ...FINDS_STACK,
        ...['GetDatabase', 'GetDatabases', 'GetTable', 'GetTables'].flatMap((action) =>
          tables.map((resource) => `glue:${action} ${resource}`),
        ),
        `glue:GetDatabase ${glue}:database/default`,
        `glue:GetDatabases ${glue}:database/default`,
        'lakeformation:GetDataAccess *',
        's3:GetBucketLocation <ExportsBucket.Arn>',
        // The keys of reports cannot be listed.
        's3:ListBucket <ExportsBucket.Arn> when {"StringLike":{"s3:prefix":["tables/*","query-results/*"]}}',
        `s3:GetObject ${TABLES}`,
        `s3:GetObject ${results}`,
        ...['PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'].map(
          (action) => `s3:${action} ${results}`,
        ),
      ].sort(),
    );
  });

  const READS_STORED = [...READS_FILES, `s3:GetObject ${TABLES}`, ...READS_SCHEMAS];

  it('let an operator run the exports and look at them, and neither read a secret nor write an object', () => {
    const ofExecution = ['DescribeExecution', 'StopExecution', 'GetExecutionHistory'];
    const ofExport = [...ofExecution, 'ListMapRuns', 'RedriveExecution'];
    const mapRuns = EXECUTIONS.replace('execution', 'mapRun');
    const logs = 'arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:*';
    expect(managed('Operator').map(withMachine)).toEqual(
      [
        ...FINDS_STACK,
        ...READS_STORED,
        'states:ListExecutions <WorkflowStateMachine>',
        'states:StartExecution <WorkflowStateMachine>',
        ...ofExport.map((action) => `states:${action} ${EXECUTIONS}:*`),
        `states:DescribeExecution ${EXECUTIONS}/*:*`,
        `states:GetExecutionHistory ${EXECUTIONS}/*:*`,
        `states:DescribeMapRun ${mapRuns}/*:*`,
        `states:ListExecutions ${mapRuns}/*:*`,
        's3:GetEncryptionConfiguration <ExportsBucket.Arn>',
        's3:ListBucketVersions <ExportsBucket.Arn>',
        'sqs:DeleteMessage <SchedulesDeadLetterQueue.Arn>',
        'sqs:ReceiveMessage <SchedulesDeadLetterQueue.Arn>',
        'logs:FilterLogEvents <FunctionsLogs.Arn>',
        `logs:DescribeLogGroups ${logs}`,
        ...['cloudwatch:DescribeAlarms', 'lambda:GetAccountSettings', 'scheduler:ListSchedules'].map(
          (action) => `${action} *`,
        ),
      ].sort(),
    );
  });

  it('let a keeper write credentials, leases and tables, and neither start an export nor read a token', () => {
    expect(managed('Keeper')).toEqual(
      [
        ...FINDS_STACK,
        ...READS_STORED,
        's3:ListBucketVersions <ExportsBucket.Arn>',
        ...['PutObject', 'GetObjectVersion', 'DeleteObject'].map((action) => `s3:${action} ${TABLES}`),
        ...['GetObject', 'PutObject'].map((action) => `s3:${action} ${LEASES}`),
        ...['GetSecretValue', 'PutSecretValue'].map((action) => `secretsmanager:${action} ${CREDENTIALS}`),
      ].sort(),
    );
  });

  it.each([
    ['without a KMS key', {}],
    ['with a KMS key', { kms_key: 'create' }],
  ])('cause no circular dependency in the stack %s', (_, config) => {
    // Template.fromJSON throws on one.
    expect(() => Template.fromJSON(synthesizeStack(config).template)).not.toThrow();
  });

  it('give each function a role of its own', () => {
    const functions = resourcesOf(stack, 'AWS::Lambda::Function');
    for (const [id, { Properties }] of functions) expect(readable(Properties.Role)).toBe(`<${id}Role.Arn>`);
  });

  it('are no managed or inline policies, and no policy belongs to two roles', () => {
    for (const [id, { Properties }] of roles) {
      expect(Object.keys(Properties), id).toEqual(['AssumeRolePolicyDocument']);
    }
    for (const { Properties } of policies) expect(Properties.Roles).toHaveLength(1);
  });
});
