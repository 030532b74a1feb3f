import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, Policy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { CfnStateMachine, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';

/** Step Functions asks KMS for a new data key this often. Seconds; 900 is the longest. */
const DATA_KEY_REUSE = 300;

/**
 * The key for everything that the stack keeps, where the config asks for one: secrets, objects, executions, logs,
 * what was not started, alarms.
 *
 * @param wanted `create`, or the ARN of a key whose policy lets in the services that are named here
 */
export function encryptionKey(scope: Construct, id: string, wanted: string | undefined): IKey | undefined {
  if (wanted === undefined) return undefined;
  if (wanted !== 'create') return Key.fromKeyArn(scope, id, wanted);
  const description = `Everything that ${Stack.of(scope).stackName} keeps`;
  // Without the key, what it has encrypted can never be read again.
  const key = new Key(scope, id, {
    description,
    enableKeyRotation: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });
  for (const statement of servicesThatEncrypt(Stack.of(scope))) key.addToResourcePolicy(statement);
  return key;
}

/** Services that act for nobody's role: log groups, the delivery of executions' logs to one, and alarms to the topic. */
function servicesThatEncrypt({ partition, region, account, urlSuffix, stackName }: Stack): PolicyStatement[] {
  const logs = `arn:${partition}:logs:${region}:${account}`;
  return [
    new PolicyStatement({
      // The only one of them whose name is a Region's, and in China ends with .cn.
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
      conditions: {
        StringEquals: { 'aws:SourceAccount': account },
        ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stackName}-*` },
      },
    }),
  ];
}

/** What a service that acts for a role needs of the key; nothing where there is none. */
export function grantKey(
  grantee: IGrantable,
  key: IKey | undefined,
  service: 's3' | 'secretsmanager' | 'sqs',
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
 * Encrypts the definition and every execution's history. The construct's own `encryptionConfiguration` would allow the
 * role to do so for a state machine that has a fixed name, and for none that has not.
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
    // A child execution belongs to `<state machine>/<label of its Distributed Map>`.
    conditions: { ArnLike: { 'kms:EncryptionContext:aws:states:stateMachineArn': [arn, `${arn}/*`] } },
  });
  // Of its own, since the state machine waits for its role's default policy, which could not name it then.
  new Policy(machine, 'KeyPolicy', { roles: [machine.role], statements: [executions] });
  // In that one, since Step Functions looks whether the role may deliver logs when it creates the state machine.
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
