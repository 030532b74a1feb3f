import { describe, expect, it } from 'vitest';
import type { StepName } from '../../../infra/stack/config/memory.ts';
import { allowedIn, permissionsOf, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

type Properties = ReturnType<typeof synthesizeStack>['template'];

const stack = synthesizeStack({ kms_key: 'create', alarm_emails: ['ops@example.com'] });
const [[keyId, key] = ['', undefined]] = resourcesOf(stack, 'AWS::KMS::Key');
const ARN = `<${keyId}.Arn>`;

/** A role's permissions for the key, each with its service. */
function allowed(role: string): string[] {
  return allowedIn(stack, role).filter((line) => line.startsWith('kms:'));
}

const through = (service: string) =>
  `when {"StringEquals":{"kms:ViaService":"${service}.<AWS::Region>.amazonaws.com"}}`;
const DECRYPT = (service: string) => `kms:Decrypt ${ARN} ${through(service)}`;
const GENERATE = (service: string) => `kms:GenerateDataKey ${ARN} ${through(service)}`;

describe('the key', () => {
  it('is rotated, and stays when the stack is deleted, but not when its creation is rolled back', () => {
    expect(key?.Properties.EnableKeyRotation).toBe(true);
    expect(key).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
  });

  it('can be used by IAM policies of the account, and by the services that act without a role', () => {
    const here = '<AWS::Region>:<AWS::AccountId>';
    const context = `"kms:EncryptionContext`;
    const logGroups = `when {"ArnLike":{${context}:aws:logs:arn":"arn:<AWS::Partition>:logs:${here}:log-group:*"}}`;
    const delivered = `when {"StringEquals":{${context}:SourceArn":"arn:<AWS::Partition>:logs:${here}:*"}}`;
    const ownAlarms = `"arn:<AWS::Partition>:cloudwatch:${here}:alarm:exports-test-*"`;
    const account = '{"aws:SourceAccount":"<AWS::AccountId>"}';
    const alarms = `when {"StringEquals":${account},"ArnLike":{"aws:SourceArn":${ownAlarms}}}`;
    const forLogs = ['Decrypt', 'DescribeKey', 'Encrypt', 'GenerateDataKey*', 'ReEncrypt*'];
    const statements: { Principal: unknown }[] = key?.Properties.KeyPolicy.Statement;
    const lines = statements.map(({ Principal, ...rest }) => [
      ...Object.values(readable(Principal) as object),
      ...permissionsOf([rest as never]),
    ]);
    expect(lines).toEqual([
      ['arn:<AWS::Partition>:iam::<AWS::AccountId>:root', 'kms:* *'],
      ['logs.<AWS::Region>.<AWS::URLSuffix>', ...forLogs.map((action) => `kms:${action} * ${logGroups}`)],
      ['delivery.logs.amazonaws.com', `kms:Decrypt * ${delivered}`],
      ['cloudwatch.amazonaws.com', `kms:Decrypt * ${alarms}`, `kms:GenerateDataKey* * ${alarms}`],
    ]);
  });

  it('encrypts secrets, objects, executions, logs, the dead-letter queue and the topic', () => {
    const keyOf = (type: string, read: (properties: Properties) => unknown) => {
      const resources = [...resourcesOf(stack, type)];
      expect(resources, type).not.toEqual([]);
      for (const [id, { Properties }] of resources) expect(readable(read(Properties)), id).toBe(ARN);
    };
    keyOf('AWS::SecretsManager::Secret', ({ KmsKeyId }) => KmsKeyId);
    keyOf('AWS::Logs::LogGroup', ({ KmsKeyId }) => KmsKeyId);
    keyOf('AWS::SQS::Queue', ({ KmsMasterKeyId }) => KmsMasterKeyId);
    keyOf('AWS::SNS::Topic', ({ KmsMasterKeyId }) => KmsMasterKeyId);
    keyOf('AWS::StepFunctions::StateMachine', ({ EncryptionConfiguration }) => {
      expect(EncryptionConfiguration.Type).toBe('CUSTOMER_MANAGED_KMS_KEY');
      return EncryptionConfiguration.KmsKeyId;
    });
    keyOf('AWS::S3::Bucket', ({ BucketEncryption }) => {
      const [rule] = BucketEncryption.ServerSideEncryptionConfiguration;
      expect(rule).toMatchObject({
        BucketKeyEnabled: true,
        ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms' },
      });
      return rule.ServerSideEncryptionByDefault.KMSMasterKeyID;
    });
  });
});

const STORES_REPORTS = [DECRYPT('s3'), DECRYPT('secretsmanager'), GENERATE('s3')];
const PERMISSIONS: Readonly<Record<StepName, readonly string[]>> = {
  PlanExport: [DECRYPT('s3'), GENERATE('s3')],
  GetToken: [DECRYPT('s3'), DECRYPT('secretsmanager'), GENERATE('s3'), GENERATE('secretsmanager')],
  ListAdvertisers: [DECRYPT('s3'), DECRYPT('secretsmanager'), GENERATE('s3')],
  CreateReport: [DECRYPT('s3'), DECRYPT('secretsmanager')],
  CheckReport: [DECRYPT('secretsmanager')],
  SaveReport: STORES_REPORTS,
  QueryPurchases: STORES_REPORTS,
  ExportList: STORES_REPORTS,
  CurateReport: [DECRYPT('s3'), GENERATE('s3')],
  PublishWindow: [DECRYPT('s3'), GENERATE('s3')],
  PublishExport: [DECRYPT('s3')],
  DescribeFailure: [GENERATE('s3')],
  CheckReady: [DECRYPT('s3')],
};

describe('with the key', () => {
  it.each(Object.entries(PERMISSIONS))('%s can make its calls', (step, actions) => {
    expect(allowed(`Functions${step}Role`)).toEqual(actions);
  });

  it('whoever queries the tables, runs the exports or keeps them can decrypt what they read', () => {
    const policies = resourcesOf(stack, 'AWS::IAM::ManagedPolicy');
    const keyOf = (id: string) =>
      permissionsOf(policies.get(id)?.Properties.PolicyDocument.Statement).filter((line) =>
        line.startsWith('kms:'),
      );
    expect(keyOf('TablesReader')).toEqual([DECRYPT('s3'), GENERATE('s3')]);
    const both = (service: string) => [DECRYPT(service), GENERATE(service)];
    const looks = [`kms:DescribeKey ${ARN}`, DECRYPT('s3'), DECRYPT('sqs'), DECRYPT('states')];
    expect(keyOf('Operator')).toEqual(looks.sort());
    expect(keyOf('Keeper')).toEqual([...both('s3'), ...both('secretsmanager')].sort());
  });

  it('schedules can send to the dead-letter queue', () => {
    expect(allowed('SchedulesRole')).toEqual([DECRYPT('sqs'), GENERATE('sqs')]);
  });

  it('the state machine can encrypt its executions and child executions, and deliver their logs', () => {
    const machine = '["<WorkflowStateMachine>","<WorkflowStateMachine>/*"]';
    const executions = `when {"ArnLike":{"kms:EncryptionContext:aws:states:stateMachineArn":${machine}}}`;
    const logs = 'arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:*';
    expect(allowed('WorkflowStateMachineRole')).toEqual([
      `kms:Decrypt ${ARN} ${executions}`,
      `kms:GenerateDataKey ${ARN} ${executions}`,
      `kms:GenerateDataKey ${ARN} when {"StringEquals":{"kms:EncryptionContext:SourceArn":"${logs}"}}`,
    ]);
  });

  it('the state machine can deliver logs when it is created, which Step Functions checks', () => {
    const policies = [...resourcesOf(stack, 'AWS::IAM::Policy')];
    const delivering = policies.filter(([, { Properties }]) => JSON.stringify(Properties).includes(':logs:'));
    expect(delivering).toHaveLength(1);
    const [[, machine] = []] = resourcesOf(stack, 'AWS::StepFunctions::StateMachine');
    const before = machine?.DependsOn?.map((id) => readable({ Ref: id }));
    expect(before).toEqual(expect.arrayContaining(delivering.map(([id]) => `<${id}>`)));
  });
});
