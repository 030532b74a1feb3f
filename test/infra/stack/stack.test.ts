import { describe, expect, it } from 'vitest';
import { READS, type SettingName, Settings } from '../../../functions/workflow/settings.ts';
import { OUTPUTS } from '../../../infra/stack/config/config.ts';
import type { StepName } from '../../../infra/stack/config/memory.ts';
import { machineOf } from '../../support/bounds.ts';
import { readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

const stack = synthesizeStack();
const functions = resourcesOf(stack, 'AWS::Lambda::Function');
const logGroups = resourcesOf(stack, 'AWS::Logs::LogGroup');

function only(type: string) {
  const [[id, resource] = [], ...others] = resourcesOf(stack, type);
  expect(others).toEqual([]);
  if (id === undefined || resource === undefined) throw new Error(`The template has no ${type}`);
  return { id, ...resource };
}

/** The policies of resources that hold data. */
const KEPT = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
const REMOVED = { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' };

it.each([
  ['without a KMS key', {}],
  ['with a KMS key', { kms_key: 'create' }],
])('a deployment that is rolled back leaves no resource behind that would block the next one, %s', (_, changes) => {
  const resources = Object.entries<{ DeletionPolicy?: string }>(synthesizeStack(changes).template.Resources);
  const left = resources.filter(([, { DeletionPolicy }]) => DeletionPolicy === 'Retain');
  expect(left).toEqual([]);
});

describe('the bucket', () => {
  const bucket = only('AWS::S3::Bucket');

  it('is closed to the public, encrypted and versioned', () => {
    expect(bucket.Properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      VersioningConfiguration: { Status: 'Enabled' },
    });
  });

  it('refuses requests without TLS, and allows nobody else access', () => {
    const { Properties } = only('AWS::S3::BucketPolicy');
    expect(readable(Properties.PolicyDocument.Statement)).toEqual([
      {
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 's3:*',
        Resource: ['<ExportsBucket.Arn>', '<ExportsBucket.Arn>/*'],
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ]);
  });

  it('28: removes unfinished uploads, replaced objects, pages and results in time, and nothing else', () => {
    const { Rules } = bucket.Properties.LifecycleConfiguration;
    expect(Rules).toEqual([
      expect.objectContaining({
        Status: 'Enabled',
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
      }),
      expect.objectContaining({ Status: 'Enabled', NoncurrentVersionExpiration: { NoncurrentDays: 90 } }),
      expect.objectContaining({ Prefix: 'tables/', NoncurrentVersionExpiration: { NoncurrentDays: 7 } }),
      expect.objectContaining({ Prefix: 'leases/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
      expect.objectContaining({
        Prefix: '_pages/',
        ExpirationInDays: 1,
        NoncurrentVersionExpiration: { NoncurrentDays: 1 },
      }),
      expect.objectContaining({ Prefix: 'query-results/', ExpirationInDays: 45 }),
    ]);
    for (const rule of Rules.slice(0, 4)) expect(rule).not.toHaveProperty('ExpirationInDays');
  });

  it('removes the files of reports after keep_reports_days, and no manifest', () => {
    const [kept] = resourcesOf(synthesizeStack({ keep_reports_days: 400 }), 'AWS::S3::Bucket').values();
    expect(kept?.Properties.LifecycleConfiguration.Rules).toContainEqual({
      Id: 'Reports',
      Status: 'Enabled',
      Prefix: 'exports/',
      TagFilters: [{ Key: 'kind', Value: 'file' }],
      ExpirationInDays: 400,
      NoncurrentVersionExpiration: { NoncurrentDays: 7 },
    });
  });

  it('sends EventBridge events about its objects', () => {
    expect(bucket.Properties.NotificationConfiguration).toEqual({
      EventBridgeConfiguration: { EventBridgeEnabled: true },
    });
  });

  it('stays when the stack is deleted, but not when its creation is rolled back', () => {
    expect(bucket).toMatchObject(KEPT);
  });
});

describe('the secrets', () => {
  const secrets = resourcesOf(stack, 'AWS::SecretsManager::Secret');

  it('are two per account, with the names that the functions read', () => {
    expect([...secrets.values()].map(({ Properties }) => Properties.Name).sort()).toEqual([
      'exports-test/acme/credential',
      'exports-test/acme/token',
      'exports-test/globex/credential',
      'exports-test/globex/token',
    ]);
  });

  it('of credentials stay without their account or stack, unless their creation is rolled back; tokens go', () => {
    for (const [id, { DeletionPolicy, UpdateReplacePolicy }] of secrets) {
      expect({ DeletionPolicy, UpdateReplacePolicy }, id).toEqual(id.endsWith('credential') ? KEPT : REMOVED);
    }
  });

  it('P6: have no value in the template, and no reference that would put one there', () => {
    expect(JSON.stringify(stack.template)).not.toMatch(
      /SecretString|GenerateSecret|\{\{resolve:|client_secret|refresh_token|access_token|api_key|download_url/i,
    );
  });
});

describe('the functions', () => {
  it('run on Node 24 and arm64', () => {
    for (const [id, { Properties }] of functions)
      expect(Properties, id).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
      });
  });

  it('have the memory of memory_mb, and CurateReport the time of curate_minutes', () => {
    const changes = { memory_mb: { CurateReport: 3_538, ExportList: 2_048 }, curate_minutes: 10 };
    const withChanges = resourcesOf(synthesizeStack(changes), 'AWS::Lambda::Function');
    expect(withChanges.get('FunctionsCurateReport')?.Properties).toMatchObject({
      MemorySize: 3_538,
      Timeout: 600,
    });
    expect(withChanges.get('FunctionsExportList')?.Properties).toMatchObject({
      MemorySize: 2_048,
      Timeout: 900,
    });
  });

  it.each([
    [{}, 8_704],
    [{ max_curate_bytes: 1 }, 514],
    [{ max_curate_bytes: 4_864 * 1024 ** 2 }, 10_240],
  ])('give CurateReport a whole CPU, and room in /tmp for the largest file twice: %j', (changes, megabytes) => {
    const withChanges = resourcesOf(synthesizeStack(changes), 'AWS::Lambda::Function');
    expect(withChanges.get('FunctionsCurateReport')?.Properties).toMatchObject({
      MemorySize: 1769,
      EphemeralStorage: { Size: megabytes },
    });
  });

  it('give PlanExport the CPU and the time to read thousands of manifests', () => {
    expect(functions.get('FunctionsPlanExport')?.Properties).toMatchObject({
      MemorySize: 1024,
      Timeout: 300,
    });
  });

  it('get exactly the settings that they read', () => {
    const configured = synthesizeStack({
      max_download_bytes: 1_000,
      max_curate_bytes: 2_000,
      download_hosts: ['files.example', '*.cdn.example'],
      refresh_parameters: { audience: 'ads' },
      runbook_url: 'https://wiki.example/runbook',
    });
    const values: Readonly<Partial<Record<SettingName, string>>> = {
      PLATFORM_BASE_URL: 'https://api.platform.example/v1',
      PLATFORM_REVISION: '2026-09-01',
      SECRET_PREFIX: 'exports-test',
      BUCKET: '<ExportsBucket>',
      BUCKET_OWNER: '<AWS::AccountId>',
      MAX_DOWNLOAD_BYTES: '1000',
      MAX_CURATE_BYTES: '2000',
      GLUE_DATABASE: 'exports_test',
      REFRESH_PARAMETERS: '{"audience":"ads"}',
      RUNBOOK_URL: 'https://wiki.example/runbook',
      PROGRAM: 'npm run export --',
      DOWNLOAD_HOSTS: 'files.example,*.cdn.example',
    };
    for (const [id, { Properties }] of resourcesOf(configured, 'AWS::Lambda::Function')) {
      const step = id.replace(/^Functions/, '') as StepName;
      const variables = readable(Properties.Environment.Variables) as Record<string, string>;
      const settings = Object.entries(variables).filter(([name]) => name in Settings.shape);
      const read = READS[step].flatMap((name: SettingName) => (name in values ? [[name, values[name]]] : []));
      expect(Object.fromEntries(settings), id).toEqual({ STEP: step, ...Object.fromEntries(read) });
    }
  });
});

describe('the state machine', () => {
  const machine = only('AWS::StepFunctions::StateMachine');

  it('is of type STANDARD, traced, and limited to 101 days', () => {
    expect(machine.Properties).toMatchObject({
      StateMachineType: 'STANDARD',
      TracingConfiguration: { Enabled: true },
    });
    expect(machineOf(stack).TimeoutSeconds).toBe(101 * 24 * 60 * 60);
  });

  it('P6: logs every event without input and output', () => {
    expect(readable(machine.Properties.LoggingConfiguration)).toEqual({
      Level: 'ALL',
      IncludeExecutionData: false,
      Destinations: [{ CloudWatchLogsLogGroup: { LogGroupArn: '<ExecutionLogs.Arn>' } }],
    });
  });
});

it('the log groups keep their lines for as long as the config says', () => {
  const shortLived = resourcesOf(synthesizeStack({ log_retention_days: 30 }), 'AWS::Logs::LogGroup');
  for (const [groups, days] of [
    [logGroups, 90],
    [shortLived, 30],
  ] as const) {
    for (const [id, { Properties }] of groups) expect(Properties.RetentionInDays, id).toBe(days);
  }
  expect([...logGroups.keys()]).toContain('ExecutionLogs');
});

it('the outputs are what commands and people need to find, under the names that commands use', () => {
  const values = Object.entries(stack.template.Outputs).map(([id, output]) => [
    id,
    readable((output as { Value: unknown }).Value),
  ]);
  expect(Object.fromEntries(values)).toEqual({
    [OUTPUTS.stateMachine]: '<WorkflowStateMachine>',
    [OUTPUTS.bucket]: '<ExportsBucket>',
    [OUTPUTS.deadLetterQueue]: '<SchedulesDeadLetterQueue>',
    [OUTPUTS.alarmTopic]: '<AlarmTopic>',
    [OUTPUTS.operatorPolicy]: '<Operator>',
    [OUTPUTS.keeperPolicy]: '<Keeper>',
    [OUTPUTS.database]: 'exports_test',
    [OUTPUTS.workgroup]: '<TablesWorkgroup>',
    [OUTPUTS.readerPolicy]: '<TablesReader>',
  });
});
