import { App, CfnOutput, Duration, Stack, Stage } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { type IVpc, Vpc } from 'aws-cdk-lib/aws-ec2';
import { CfnDatabase } from 'aws-cdk-lib/aws-glue';
import { AccountPrincipal, ArnPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket, type BucketProps, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { DISABLE_ASSET_STAGING_CONTEXT } from 'aws-cdk-lib/cx-api';
import { describe, expect, it } from 'vitest';
import { readContext } from '../../../../infra/stack/config/read-config.ts';
import { AdReportExport } from '../../../../infra/stack/constructs/ad-report-export.ts';
import type { AdReportExportProps } from '../../../../infra/stack/constructs/export-props.ts';
import { addPolicyChecks } from '../../../../infra/stack/synth-checks.ts';
import { allowedIn, BUNDLES, CONTEXT, readable, resourcesOf } from '../../../support/stack.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const ENV = { account: '111122223333', region: 'eu-central-1' };
const KEY_ARN = 'arn:aws:kms:eu-central-1:111122223333:key/1a2b3c4d-0000-1111-2222-333344445555';
const TOPIC_ARN = 'arn:aws:sns:eu-central-1:111122223333:on-call';
const READER_ARN = 'arn:aws:iam::444455556666:role/reader';

function createApp(): App {
  const context = { ...readContext(), [DISABLE_ASSET_STAGING_CONTEXT]: true };
  return new App({ context, builtinCloudFormationValidation: false, outdir: temporaryDirectory() });
}

/** A stack of a team, which makes the resources that it owns. */
function teamStack(app = createApp(), id = 'Platform', env = ENV): Stack {
  return new Stack(app, id, { env });
}

function addExport(stack: Stack, props: Partial<AdReportExportProps> = {}): AdReportExport {
  return new AdReportExport(stack, 'Ads', { config: CONTEXT, ...props }, BUNDLES);
}

function synthesized(stack: Stack) {
  const template = Template.fromStack(stack).toJSON();
  return { template, codeOf: () => '' };
}

function createBucket(stack: Stack, props: BucketProps = {}): IBucket {
  return new Bucket(stack, 'Lake', props) as IBucket;
}

function warningsOf(stack: Stack): unknown[] {
  return Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => entry.data);
}

describe('in a stack of a team', () => {
  it('its names come from the config, and its outputs are those of the commands', () => {
    const stack = teamStack();
    addExport(stack);
    const built = synthesized(stack);
    expect(built.template.Outputs).toHaveProperty('AdReportExportStateMachineArn');
    const named = {
      'AWS::SecretsManager::Secret': 'Name',
      'AWS::CloudWatch::Alarm': 'AlarmName',
      'AWS::IAM::ManagedPolicy': 'ManagedPolicyName',
      'AWS::Athena::WorkGroup': 'Name',
    };
    for (const [type, property] of Object.entries(named))
      for (const { Properties } of resourcesOf(built, type).values())
        expect(Properties[property]).toMatch(/^exports-test\b/);
  });

  it('a bucket of the app is used as it is, with lifecycle rules for the prefixes of the export', () => {
    const stack = teamStack();
    const bucket = createBucket(stack, { versioned: true });
    addExport(stack, { bucket, config: { ...CONTEXT, keep_reports_days: 400 } });
    const buckets = resourcesOf(synthesized(stack), 'AWS::S3::Bucket');
    expect([...buckets.keys()]).toEqual(['Lake']);
    const { LifecycleConfiguration, ...others } = buckets.get('Lake')?.Properties ?? {};
    expect(others).toEqual({ VersioningConfiguration: { Status: 'Enabled' } });
    const rules: { Id: string; Prefix: string }[] = LifecycleConfiguration.Rules;
    expect(rules.map(({ Prefix }) => Prefix)).not.toContain(undefined);
    expect(rules.map(({ Id }) => Id)).toContain('AdReportExport-Reports');
    expect(warningsOf(stack)).toEqual([]);
  });

  it('an imported bucket, key and topic stay as they are, and a warning says what each must have', () => {
    const stack = teamStack();
    addExport(stack, {
      bucket: Bucket.fromBucketName(stack, 'Lake', 'lake'),
      encryptionKey: Key.fromKeyArn(stack, 'Key', KEY_ARN),
      alarmTopic: Topic.fromTopicArn(stack, 'Topic', TOPIC_ARN),
      database: CfnDatabase.fromDatabaseName(stack, 'Database', 'ads'),
    });
    const built = synthesized(stack);
    for (const type of ['S3::Bucket', 'KMS::Key', 'SNS::Topic', 'SNS::TopicPolicy', 'Glue::Database'])
      expect(resourcesOf(built, `AWS::${type}`).size, type).toBe(0);
    for (const { Properties } of resourcesOf(built, 'AWS::SecretsManager::Secret').values())
      expect(Properties.KmsKeyId).toBe(KEY_ARN);
    for (const { Properties } of resourcesOf(built, 'AWS::CloudWatch::Alarm').values())
      expect(Properties.AlarmActions).toEqual([TOPIC_ARN]);
    for (const { Properties } of resourcesOf(built, 'AWS::Glue::Table').values())
      expect(Properties.DatabaseName).toBe('ads');
    const lambda = resourcesOf(built, 'AWS::Lambda::Function').get('AdsFunctionsCurateReport');
    expect(lambda?.Properties.Environment.Variables).toMatchObject({ BUCKET: 'lake', GLUE_DATABASE: 'ads' });
    expect(warningsOf(stack)).toEqual([
      expect.stringMatching(/^the key Platform\/Key is imported/),
      expect.stringMatching(
        /the topic Platform\/Topic, .* sns:Publish for the alarms exports-test-\*.* kms:Decrypt/,
      ),
      expect.stringMatching(/^the bucket Platform\/Lake is imported.* versions under tables\/ after 7 days/),
    ]);
  });

  it('its functions run in a VPC, with permissions for their interfaces and no managed policy', () => {
    const stack = teamStack();
    addExport(stack, { vpc: new Vpc(stack, 'Vpc', { restrictDefaultSecurityGroup: false }) as IVpc });
    const built = synthesized(stack);
    for (const { Properties } of resourcesOf(built, 'AWS::Lambda::Function').values())
      expect(readable(Properties.VpcConfig)).toMatchObject({
        SecurityGroupIds: ['<AdsFunctionsSecurityGroup.GroupId>'],
        SubnetIds: [1, 2, 3].map((number) => `<VpcPrivateSubnet${number}Subnet>`),
      });
    const [group] = resourcesOf(built, 'AWS::EC2::SecurityGroup').values();
    const ways = [
      ['CidrIp', '0.0.0.0/0'],
      ['CidrIpv6', '::/0'],
    ] as const;
    const egress = ways.map(([field, network]) => ({ [field]: network, FromPort: 443, ToPort: 443 }));
    expect(group?.Properties).not.toHaveProperty('SecurityGroupIngress');
    expect(group?.Properties.SecurityGroupEgress).toEqual(
      egress.map((rule) => expect.objectContaining(rule)),
    );
    const interfaces = allowedIn(built, 'AdsFunctionsGetTokenRole').filter((line) => line.startsWith('ec2:'));
    expect(interfaces).toEqual([
      'ec2:AssignPrivateIpAddresses *',
      'ec2:CreateNetworkInterface *',
      'ec2:DeleteNetworkInterface *',
      'ec2:DescribeNetworkInterfaces *',
      'ec2:DescribeSubnets *',
      'ec2:UnassignPrivateIpAddresses *',
    ]);
    for (const { Properties } of resourcesOf(built, 'AWS::IAM::Role').values())
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
  });

  it('cdk-nag finds nothing in it, whatever it is given and wherever that is made', () => {
    const app = createApp();
    addPolicyChecks(app);
    const shared = new Stack(app, 'Shared', { env: ENV });
    const bucket = createBucket(shared, { enforceSSL: true, serverAccessLogsPrefix: 'logs/' });
    const stack = teamStack(app);
    const vpc = Vpc.fromVpcAttributes(stack, 'Vpc', {
      vpcId: 'vpc-1',
      availabilityZones: ['eu-central-1a'],
      privateSubnetIds: ['subnet-1'],
    });
    addExport(stack, { bucket, vpc, encryptionKey: Key.fromKeyArn(stack, 'Key', KEY_ARN) });
    expect(() => app.synth()).not.toThrow();
  });
});

it('an app may have one for each stage and Region', () => {
  const app = createApp();
  addExport(teamStack(app, 'Dev'), { config: { ...CONTEXT, stack: 'dev' } });
  addExport(teamStack(app, 'Prod'));
  addExport(teamStack(app, 'Elsewhere', { ...ENV, region: 'us-east-1' }));
  expect(() => app.synth()).not.toThrow();
});

it('fits a stack that has an output of a name like ours', () => {
  const stack = teamStack();
  new CfnOutput(stack, 'BucketName', { value: 'theirs' });
  addExport(stack);
  expect(synthesized(stack).template.Outputs).toMatchObject({
    BucketName: { Value: 'theirs' },
    AdReportExportBucketName: expect.anything(),
  });
});

describe('a second one', () => {
  const COLLIDES =
    /stack: Second\/Ads and First\/Ads are both called exports-test, .* give one another name, or give their stacks different env/;

  it('in the same stack is refused, whatever its name is', () => {
    const stack = teamStack();
    addExport(stack);
    const config = { ...CONTEXT, stack: 'other' };
    expect(() => new AdReportExport(stack, 'More', { config }, BUNDLES)).toThrow(
      'Platform/More: its stack already has Platform/Ads; give each a stack of its own',
    );
  });

  it.each([
    ['of the same env', ENV, ENV],
    ['without env', undefined, undefined],
    ['of which one has no env', undefined, ENV],
  ])('of the same name is refused in stacks %s', (_, first, second) => {
    const app = createApp();
    addExport(new Stack(app, 'First', { ...(first && { env: first }) }));
    expect(() => addExport(new Stack(app, 'Second', { ...(second && { env: second }) }))).toThrow(COLLIDES);
  });

  it('with the same bucket is refused, whatever its name is', () => {
    const app = createApp();
    const bucket = createBucket(new Stack(app, 'Shared', { env: ENV }));
    addExport(teamStack(app, 'First'), { bucket });
    const config = { ...CONTEXT, stack: 'other' };
    expect(() => addExport(teamStack(app, 'Second'), { bucket, config })).toThrow(
      'bucket: Second/Ads and First/Ads cannot share one',
    );
  });

  it('is taken after one that failed', () => {
    const app = createApp();
    const [first, second] = [teamStack(app, 'First'), teamStack(app, 'Second')];
    expect(() => addExport(first, { config: { ...CONTEXT, revision: 'x' } })).toThrow('revision');
    const bucket = createBucket(new Stack(app, 'Shared', { env: ENV }));
    expect(() => addExport(second, { bucket })).not.toThrow();
  });

  it('of the same name is taken in another AWS account, also in another stage', () => {
    const app = createApp();
    addExport(new Stack(app, 'First', { env: { account: ENV.account } }));
    const production = new Stage(app, 'Production', { env: { account: '222222222222' } });
    expect(() => addExport(new Stack(production, 'Second'))).not.toThrow();
  });
});

it.each<[string, (stack: Stack) => Partial<AdReportExportProps>, string]>([
  ['a faulty config', () => ({ config: { ...CONTEXT, revision: 'x' } }), 'revision: must be a date'],
  [
    'a key of another Region',
    (stack) => ({
      encryptionKey: Key.fromKeyArn(stack, 'Key', KEY_ARN.replace('eu-central-1', 'us-east-1')),
    }),
    'encryptionKey: belongs to us-east-1, and the stack to eu-central-1',
  ],
  [
    'a bucket of another AWS account',
    (stack) => ({
      bucket: Bucket.fromBucketAttributes(stack, 'Lake', { bucketName: 'lake', account: '222222222222' }),
    }),
    'bucket: belongs to the AWS account 222222222222, and the stack to 111122223333',
  ],
  [
    'a key beside kms_key',
    (stack) => ({ config: { ...CONTEXT, kms_key: 'create' }, encryptionKey: new Key(stack, 'Key') }),
    'kms_key: cannot be combined',
  ],
  [
    'a topic beside alarm_emails',
    (stack) => ({
      config: { ...CONTEXT, alarm_emails: ['ops@example.com'] },
      alarmTopic: new Topic(stack, 'Topic'),
    }),
    'alarm_emails: cannot be combined',
  ],
  [
    'keep_reports_days with an imported bucket',
    (stack) => ({
      config: { ...CONTEXT, keep_reports_days: 400 },
      bucket: Bucket.fromBucketName(stack, 'Lake', 'lake'),
    }),
    'keep_reports_days: needs a bucket of this app',
  ],
])('refuses %s', (_, propsIn, fault) => {
  const stack = teamStack();
  expect(() => addExport(stack, propsIn(stack))).toThrow(fault);
});

describe('grantRead', () => {
  const READS = ['s3:GetObject', 's3:GetObjectVersion'];

  it('lets a role of this account read reports, tables and the catalog, and decrypt', () => {
    const stack = teamStack();
    const role = new Role(stack, 'Loader', { assumedBy: new AccountPrincipal(ENV.account) });
    addExport(stack, { config: { ...CONTEXT, kms_key: 'create' } }).grantRead(role);
    const glue = 'arn:aws:glue:eu-central-1:111122223333';
    const catalog = [`${glue}:catalog`, `${glue}:database/exports_test`, `${glue}:table/exports_test/*`];
    const prefixes = ['exports/*', 'tables/*'];
    const bucket = '<AdsExportsBucket.Arn>';
    expect(
      allowedIn(synthesized(stack), 'Loader').map((line) => line.replace('<AWS::Partition>', 'aws')),
    ).toEqual(
      [
        ...READS.flatMap((action) => prefixes.map((prefix) => `${action} ${bucket}/${prefix}`)),
        `s3:GetBucketLocation ${bucket}`,
        `s3:ListBucket ${bucket} when {"StringLike":{"s3:prefix":["exports/*","tables/*"]}}`,
        ...['GetDatabase', 'GetDatabases', 'GetTable', 'GetTables'].flatMap((action) =>
          catalog.map((resource) => `glue:${action} ${resource}`),
        ),
        'kms:Decrypt <AdsKey.Arn>',
      ].sort(),
    );
  });

  it('admits a role of another account in the policies of the bucket and the key', () => {
    const stack = teamStack();
    const ads = addExport(stack, { config: { ...CONTEXT, kms_key: 'create' } });
    ads.grantRead(Role.fromRoleArn(stack, 'Reader', READER_ARN));
    const built = synthesized(stack);
    const [policy] = resourcesOf(built, 'AWS::S3::BucketPolicy').values();
    const statements = policy?.Properties.PolicyDocument.Statement;
    const admitted = statements.filter(({ Effect }: { Effect: string }) => Effect === 'Allow');
    expect(admitted).toEqual(
      [{ Action: READS }, { Action: 's3:ListBucket' }, { Action: 's3:GetBucketLocation' }].map((statement) =>
        expect.objectContaining({ ...statement, Principal: { AWS: READER_ARN } }),
      ),
    );
    const [key] = resourcesOf(built, 'AWS::KMS::Key').values();
    expect(JSON.stringify(key?.Properties.KeyPolicy)).toContain(READER_ARN);
  });

  it('refuses a role of another account for an imported bucket, whose policy it cannot change', () => {
    const stack = teamStack();
    const ads = addExport(stack, { bucket: Bucket.fromBucketName(stack, 'Lake', 'lake') });
    for (const reader of [Role.fromRoleArn(stack, 'Reader', READER_ARN), new ArnPrincipal(READER_ARN)])
      expect(() => ads.grantRead(reader)).toThrow(/^The bucket Platform\/Lake is imported/);
  });
});

it.each([
  ['onDelivered', 'Report Exported', '<AdsWorkflowStateMachine>'],
  ['onFailed', 'Report Export Failed', '<AdsWorkflowStateMachine>'],
  ['onLate', 'Report Late', '<AdsReadyChecksStateMachine>'],
] as const)('%s makes a rule for the event %s of its own state machine', (method, detailType, sender) => {
  const stack = teamStack();
  const runs = [{ period: 'yesterday', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
  const [daily] = CONTEXT.exports;
  const ads = addExport(stack, { config: { ...CONTEXT, exports: [{ ...daily, runs }] } });
  ads[method]('Load', { eventPattern: { detail: { name: ['daily'] } } });
  const [rule] = resourcesOf(synthesized(stack), 'AWS::Events::Rule').values();
  expect(readable(rule?.Properties.EventPattern)).toEqual({
    source: ['ad-report-export'],
    'detail-type': [detailType],
    resources: [sender],
    detail: { name: ['daily'] },
  });
});

it('onLate is refused if no run has ready_by', () => {
  const ads = addExport(teamStack(), { config: { ...CONTEXT, exports: [] } });
  expect(() => ads.onLate('Late')).toThrow('Platform/Ads: onLate needs a run with ready_by');
});

it('the prop curateReport has the memory and the time of CurateReport, in the limits of the config', () => {
  const stack = teamStack();
  const config = { ...CONTEXT, memory_mb: { CurateReport: 2_000, ExportList: 2_048 } };
  addExport(stack, { config, curateReport: { memorySize: 3_538, timeout: Duration.minutes(10) } });
  const made = resourcesOf(synthesized(stack), 'AWS::Lambda::Function');
  expect(made.get('AdsFunctionsCurateReport')?.Properties).toMatchObject({ MemorySize: 3_538, Timeout: 600 });
  expect(made.get('AdsFunctionsExportList')?.Properties).toMatchObject({ MemorySize: 2_048 });
});

it.each([
  [{ timeout: Duration.minutes(1) }, 'curateReport.timeout (curate_minutes): must be at least 2'],
  [{ timeout: Duration.seconds(150) }, 'curateReport.timeout (curate_minutes): must be whole minutes'],
  [{ memorySize: 1_024 }, 'curateReport.memorySize (memory_mb.CurateReport): must be at least 1769'],
])('a fault of the prop curateReport %j names the prop', (curateReport, fault) => {
  expect(() => addExport(teamStack(), { curateReport })).toThrow(fault);
});

it('a fault of the config does not name the prop curateReport', () => {
  const config = { ...CONTEXT, curate_minutes: 2.5 };
  expect(() => addExport(teamStack(), { config })).toThrow(/^ *curate_minutes: must be whole minutes$/m);
});

describe('the program in messages', () => {
  /** The program that the functions of messages name, without repetitions. */
  function programsIn(props: Partial<AdReportExportProps>): unknown[] {
    const stack = teamStack();
    addExport(stack, props);
    const functions = resourcesOf(synthesized(stack), 'AWS::Lambda::Function');
    const named = ['DescribeFailure', 'PublishExport', 'CheckReady'].map(
      (step) => functions.get(`AdsFunctions${step}`)?.Properties.Environment.Variables.PROGRAM,
    );
    return [...new Set(named)];
  }

  it('is the one of this repository, or the one of the prop command', () => {
    expect(programsIn({})).toEqual(['npm run export --']);
    expect(programsIn({ command: 'pnpm exec ad-report-export' })).toEqual(['pnpm exec ad-report-export']);
  });

  it.each(['', ' ', 'npm run\nexport', 'ads ', 'x'.repeat(101)])('cannot be %j', (command) => {
    expect(() => programsIn({ command })).toThrow('command: must be a line of 1 to 100 characters');
  });
});
