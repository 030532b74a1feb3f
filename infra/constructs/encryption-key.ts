import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { CfnStateMachine, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { ofAlarms } from './monitoring/alarm-topic.ts';

/** Seconds for which Step Functions reuses a data key of KMS. The maximum is 900. */
const DATA_KEY_REUSE = 300;

/**
 * The customer managed key that encrypts secrets, objects, executions, logs, the dead-letter queue and
 * alarms.
 *
 * @param setting `create`, or the ARN of a key whose policy allows the services in {@link serviceStatements};
 *   undefined: everything is encrypted with keys that AWS manages
 */
export function createEncryptionKey(
  scope: Construct,
  id: string,
  setting: string | undefined,
): IKey | undefined {
  if (setting === undefined) return undefined;
  if (setting !== 'create') return Key.fromKeyArn(scope, id, setting);
  const key = new Key(scope, id, {
    description: `Encrypts everything that ${Stack.of(scope).stackName} stores`,
    enableKeyRotation: true,
    // Nobody can decrypt the data of a deleted key.
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
  });
  for (const statement of serviceStatements(Stack.of(scope))) key.addToResourcePolicy(statement);
  return key;
}

/** For services that do not act through a role: log groups, the delivery of execution logs, and alarms. */
function serviceStatements(stack: Stack): PolicyStatement[] {
  const { partition, region, account, urlSuffix } = stack;
  const logs = `arn:${partition}:logs:${region}:${account}`;
  return [
    new PolicyStatement({
      // The only one of these principals whose name contains the Region, and that ends with .cn in China.
      principals: [new ServicePrincipal(`logs.${region}.${urlSuffix}`)],
      actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:DescribeKey'],
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': `${logs}:log-group:*` } },
    }),
    new PolicyStatement({
      principals: [new ServicePrincipal('delivery.logs.amazonaws.com')],
      actions: ['kms:Decrypt'],
      resources: ['*'],
      conditions: { StringEquals: { 'kms:EncryptionContext:SourceArn': `${logs}:*` } },
    }),
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      resources: ['*'],
      conditions: ofAlarms(stack),
    }),
  ];
}

/** Lets a role use the key through a service. Does nothing without a key. */
export function grantKey(
  grantee: IGrantable,
  key: IKey | undefined,
  service: 's3' | 'secretsmanager' | 'sns' | 'sqs',
  actions: readonly ('kms:Decrypt' | 'kms:GenerateDataKey')[],
): void {
  if (!key) return;
  const { region } = Stack.of(key);
  Grant.addToPrincipal({
    grantee,
    actions: [...actions],
    resourceArns: [key.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `${service}.${region}.amazonaws.com` } },
  });
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
  const arn = machine.stateMachineArn;
  const executions = new PolicyStatement({
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    resources: [key.keyArn],
    // A child execution belongs to `<state machine>/<label of the Distributed Map>`.
    conditions: { ArnLike: { 'kms:EncryptionContext:aws:states:stateMachineArn': [arn, `${arn}/*`] } },
  });
  // A separate policy: it names the state machine, which depends on its role's default policy.
  new Policy(machine, 'KeyPolicy', { roles: [machine.role], statements: [executions] });
  // In the default policy: the role must be able to deliver logs when the state machine is created.
  machine.addToRolePolicy(
    new PolicyStatement({
      actions: ['kms:GenerateDataKey'],
      resources: [key.keyArn],
      conditions: {
        StringEquals: { 'kms:EncryptionContext:SourceArn': `arn:${partition}:logs:${region}:${account}:*` },
      },
    }),
  );
}
