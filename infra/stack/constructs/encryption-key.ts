import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { CfnStateMachine, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import type { Config } from '../config/config.ts';
import { ofAlarms } from './monitoring/alarm-topic.ts';

/** Seconds for which Step Functions reuses a data key of KMS. The maximum is 900. */
const DATA_KEY_REUSE = 300;

/**
 * The customer managed key that encrypts secrets, objects, executions, logs, the dead-letter queue and
 * alarms. Without one, everything is encrypted with keys that AWS manages.
 *
 * @param callersKey a key of the caller
 */
export function createEncryptionKey(
  scope: Construct,
  id: string,
  { stack, kms_key }: Config,
  callersKey?: IKey,
): IKey | undefined {
  if (!callersKey && kms_key === undefined) return undefined;
  const key =
    callersKey ??
    new Key(scope, id, {
      description: `Encrypts everything that ${stack} stores`,
      enableKeyRotation: true,
      // Nobody can decrypt the data of a deleted key.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
  const added = serviceStatements(scope, stack).map((statement) => key.addToResourcePolicy(statement));
  if (added.some(({ statementAdded }) => !statementAdded))
    Annotations.of(scope).addWarningV2(
      'ad-report-export:key',
      `the key ${key.node.path} is imported, so its policy cannot be changed here. infra/PLATFORM.md lists what it must allow.`,
    );
  return key;
}

/** For services that do not act through a role: log groups, the delivery of execution logs, and alarms. */
function serviceStatements(scope: Construct, stack: string): PolicyStatement[] {
  const { partition, region, account, urlSuffix } = Stack.of(scope);
  const logs = `arn:${partition}:logs:${region}:${account}`;
  return [
    {
      // The only one of these principals whose name contains the Region, and that ends with .cn in China.
      principals: [new ServicePrincipal(`logs.${region}.${urlSuffix}`)],
      actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:DescribeKey'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': `${logs}:log-group:*` } },
    },
    {
      principals: [new ServicePrincipal('delivery.logs.amazonaws.com')],
      actions: ['kms:Decrypt'],
      conditions: { StringEquals: { 'kms:EncryptionContext:SourceArn': `${logs}:*` } },
    },
    {
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      conditions: ofAlarms(scope, stack),
    },
  ].map((statement) => new PolicyStatement({ ...statement, resources: ['*'] }));
}

/** Lets a role use the key through a service. Does nothing without a key. */
export function grantKey(
  grantee: IGrantable,
  key: IKey | undefined,
  service: 's3' | 'secretsmanager' | 'sns' | 'sqs' | 'states',
  actions: ('kms:Decrypt' | 'kms:GenerateDataKey')[],
): void {
  if (!key) return;
  const via = `${service}.${Stack.of(key).region}.amazonaws.com`;
  const conditions = { StringEquals: { 'kms:ViaService': via } };
  Grant.addToPrincipal({ grantee, actions, resourceArns: [key.keyArn], conditions });
}

/**
 * Encrypts the definition and the history of every execution. The L2 property `encryptionConfiguration` would
 * grant the role nothing unless the state machine had a fixed name.
 */
export function encryptExecutions(machine: StateMachine, key: IKey | undefined): void {
  if (!key) return;
  (machine.node.defaultChild as CfnStateMachine).encryptionConfiguration = {
    type: 'CUSTOMER_MANAGED_KMS_KEY',
    kmsKeyId: key.keyArn,
    kmsDataKeyReusePeriodSeconds: DATA_KEY_REUSE,
  };
  const { partition, region, account } = Stack.of(machine);
  const resources = [key.keyArn];
  const arn = machine.stateMachineArn;
  // A child execution belongs to `<state machine>/<label of the Distributed Map>`.
  const executions = { ArnLike: { 'kms:EncryptionContext:aws:states:stateMachineArn': [arn, `${arn}/*`] } };
  const actions = ['kms:Decrypt', 'kms:GenerateDataKey'];
  // A separate policy: it names the state machine, which depends on its role's default policy.
  new Policy(machine, 'KeyPolicy', {
    roles: [machine.role],
    statements: [new PolicyStatement({ actions, resources, conditions: executions })],
  });
  const logs = `arn:${partition}:logs:${region}:${account}:*`;
  const conditions = { StringEquals: { 'kms:EncryptionContext:SourceArn': logs } };
  // In the default policy: the role must be able to deliver logs when the state machine is created.
  machine.addToRolePolicy(new PolicyStatement({ actions: ['kms:GenerateDataKey'], resources, conditions }));
}
