import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import type { CloudAssembly } from 'aws-cdk-lib/cx-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestHash } from '../../../../functions/decisions/request-hash.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';
import SANDBOX_CONFIG from '../../../../infra/init/sandbox.ts';
import { ROOT } from '../../../../infra/package.ts';
import { InvalidConfig, parseConfig } from '../../../../infra/stack/config/config.ts';
import { requestOf } from '../../../../infra/stack/config/exports.ts';
import { readContext } from '../../../../infra/stack/config/read-config.ts';
import { addSandboxStacks } from '../../../../infra/stack/sandbox/sandbox-stacks.ts';
import { ExportStack } from '../../../../infra/stack/stack.ts';
import { addPolicyChecks } from '../../../../infra/stack/synth-checks.ts';
import { CONFIG } from '../../../support/checkout.ts';
import { monthlyCost } from '../../../support/monthly-cost.ts';
import { allowedIn, BUNDLES, CONTEXT, readable, resourcesOf } from '../../../support/stack.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MAIN = 'ad-report-export-sandbox';
const PLATFORM = `${MAIN}-platform`;

function createApp(flag: unknown, outdir = temporaryDirectory()): App {
  const context = { ...readContext(), ...(flag !== undefined && { sandbox: flag }) };
  return new App({ context, builtinCloudFormationValidation: false, outdir });
}

let app: App;
let assembly: CloudAssembly;
let main: Stack;
let platform: Stack;
const ended = new DisposableStack();

beforeAll(() => {
  app = createApp(
    'true',
    temporaryDirectory((remove) => ended.defer(remove)),
  );
  addSandboxStacks(app, SANDBOX_CONFIG, BUNDLES);
  addPolicyChecks(app);
  assembly = app.synth();
  main = assembly.getStackByName(MAIN);
  platform = assembly.getStackByName(PLATFORM);
});

afterAll(() => ended.dispose());

type Stack = ReturnType<CloudAssembly['getStackByName']>;

function only(stack: Stack, type: string) {
  const [[id, resource] = [], ...others] = resourcesOf(stack, type);
  expect(others).toEqual([]);
  if (id === undefined || resource === undefined) throw new Error(`The template has no ${type}`);
  return { id, ...resource };
}

/** The environment of a step's function in the main stack. */
function settingsOf(step: string): Readonly<Record<string, unknown>> {
  const resource = resourcesOf(main, 'AWS::Lambda::Function').get(`Functions${step}`);
  return resource?.Properties.Environment.Variables;
}

/** What cdk-nag says after the synth. */
function policyReport() {
  return JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8')).pluginReports;
}

describe('the two stacks', () => {
  it('are the main one and the platform, which the main one refers to', () => {
    expect(main.dependencies.map(({ id }) => id)).toContain(PLATFORM);
    expect(platform.dependencies.map(({ id }) => id)).not.toContain(MAIN);
  });

  it('have no finding of the AwsSolutions pack that is not acknowledged', () => {
    expect(policyReport()).toEqual([
      expect.objectContaining({ pluginName: 'AwsSolutions', conclusion: 'success' }),
    ]);
  });

  it.each([MAIN, PLATFORM])('%s says how to remove it, and keeps nothing', (name) => {
    const { template } = assembly.getStackByName(name);
    expect(template.Description).toContain('cdk destroy --all -c sandbox=true');
    const policies = Object.values<Record<string, unknown>>(template.Resources).flatMap((resource) =>
      ['DeletionPolicy', 'UpdateReplacePolicy'].map((policy) => resource[policy] ?? 'Delete'),
    );
    expect(new Set(policies)).toEqual(new Set(['Delete']));
  });

  it.each([MAIN, PLATFORM])('%s has a retention for each log group', (name) => {
    const groups = [...resourcesOf(assembly.getStackByName(name), 'AWS::Logs::LogGroup').values()];
    expect(new Set(groups.map(({ Properties }) => Properties.RetentionInDays))).toEqual(new Set([90]));
  });
});

describe('the platform', () => {
  it('is one function behind a URL that is open to everybody, and cannot be invoked otherwise', () => {
    expect(only(platform, 'AWS::Lambda::Url').Properties.AuthType).toBe('NONE');
    const permissions = [...resourcesOf(platform, 'AWS::Lambda::Permission').values()];
    expect(permissions.map(({ Properties }) => readable(Properties))).toEqual([
      {
        Action: 'lambda:InvokeFunctionUrl',
        FunctionName: '<Platform.Arn>',
        FunctionUrlAuthType: 'NONE',
        Principal: '*',
      },
      {
        Action: 'lambda:InvokeFunction',
        FunctionName: '<Platform.Arn>',
        InvokedViaFunctionUrl: true,
        Principal: '*',
      },
    ]);
  });

  it('may read its secret, and the objects of its reports, and nothing of the exports', () => {
    expect(allowedIn(platform, 'PlatformRole')).toEqual([
      'logs:CreateLogStream <PlatformLogs.Arn>',
      'logs:PutLogEvents <PlatformLogs.Arn>',
      's3:GetObject <Reports.Arn>/files/*',
      's3:GetObject <Reports.Arn>/reports/*',
      's3:ListBucket <Reports.Arn>',
      's3:PutObject <Reports.Arn>/files/*',
      's3:PutObject <Reports.Arn>/reports/*',
      'secretsmanager:GetSecretValue <Credential>',
    ]);
  });

  it('has a secret of its own, which is random, under the name that the main stack reads', () => {
    const { Name, GenerateSecretString } = only(platform, 'AWS::SecretsManager::Secret').Properties;
    expect(Name).toBe(`${settingsOf('GetToken').SECRET_PREFIX}/sandbox/credential`);
    expect(GenerateSecretString).toMatchObject({ GenerateStringKey: 'client_secret', PasswordLength: 48 });
  });

  it('runs on Node 24 and arm64, as the function that empties the buckets does', () => {
    for (const { Properties } of resourcesOf(platform, 'AWS::Lambda::Function').values())
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
      });
  });

  it('logs a call only if it fails, because a stranger could make millions', () => {
    const { Properties } = resourcesOf(platform, 'AWS::Lambda::Function').get('Platform') ?? {};
    expect(Properties?.LoggingConfig).toMatchObject({ LogFormat: 'JSON', SystemLogLevel: 'WARN' });
  });

  it('is removed before its bucket is emptied', () => {
    const { DependsOn } = resourcesOf(platform, 'AWS::Lambda::Function').get('Platform') ?? {};
    expect(DependsOn).toContainEqual(expect.stringMatching(/^ReportsContents/));
  });

  it('removes reports after two days', () => {
    const { Properties } = resourcesOf(platform, 'AWS::S3::Bucket').get('Reports') ?? {};
    expect(Properties?.LifecycleConfiguration.Rules).toEqual([
      { Id: 'Expired', Status: 'Enabled', ExpirationInDays: 2 },
    ]);
  });

  it.each(['Exports', 'Reports'])('closes the bucket %s to the public, and refuses plain http', (bucket) => {
    const { Properties } = resourcesOf(platform, 'AWS::S3::Bucket').get(bucket) ?? {};
    expect(Properties?.PublicAccessBlockConfiguration).toMatchObject({ RestrictPublicBuckets: true });
    const policy = resourcesOf(platform, 'AWS::S3::BucketPolicy').get(`${bucket}Policy`);
    const [statement, ...others] = policy?.Properties.PolicyDocument.Statement ?? [];
    expect(others).toEqual([]);
    expect(statement).toMatchObject({
      Effect: 'Deny',
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
    });
  });

  it.each(['Exports', 'Reports'])('empties the bucket %s before it is removed', (bucket) => {
    const contents = resourcesOf(platform, 'Custom::BucketContents').get(`${bucket}Contents`);
    expect(readable(contents?.Properties)).toMatchObject({
      ServiceToken: '<EmptierFunction.Arn>',
      BucketName: `<${bucket}>`,
    });
    // The permission has to outlast the contents.
    expect(contents?.DependsOn).toEqual([expect.stringMatching(/^EmptierFunctionRoleDefaultPolicy/)]);
    expect(allowedIn(platform, 'EmptierFunctionRole')).toEqual(
      expect.arrayContaining([
        `s3:DeleteObject <${bucket}.Arn>/*`,
        `s3:DeleteObjectVersion <${bucket}.Arn>/*`,
        `s3:ListBucketVersions <${bucket}.Arn>`,
      ]),
    );
  });
});

describe('the main stack', () => {
  it('has the account sandbox and the exports that cdk.json ships', () => {
    const ofRepository = CONFIG.exports.map(
      ({ accounts: _, ...shipped }: Record<string, unknown>) => shipped,
    );
    expect(SANDBOX_CONFIG.exports).toEqual(ofRepository);
    expect(Object.keys(SANDBOX_CONFIG.accounts)).toEqual(['sandbox']);
  });

  it('creates no credential and no bucket', () => {
    const secrets = [...resourcesOf(main, 'AWS::SecretsManager::Secret').values()];
    expect(secrets.map(({ Properties }) => Properties.Name)).toEqual([`${MAIN}/sandbox/token`]);
    expect(resourcesOf(main, 'AWS::S3::Bucket').size).toBe(0);
  });

  it('gives its functions the URL as a reference', () => {
    expect(settingsOf('CreateReport').PLATFORM_BASE_URL).toEqual({
      'Fn::ImportValue': expect.stringMatching(/^ad-report-export-sandbox-platform:.*FunctionUrl/),
    });
  });

  it('has the same hash of a request in its tables as its functions compute', () => {
    const config = parseConfig(SANDBOX_CONFIG);
    const [daily] = config.exports;
    if (!daily) throw new Error('There is no export');
    const { PLATFORM_NAME, PLATFORM_REVISION } = settingsOf('PlanExport');
    expect({ PLATFORM_NAME, PLATFORM_REVISION }).toEqual({
      PLATFORM_NAME: 'sandbox',
      PLATFORM_REVISION: config.revision,
    });
    const { request } = parseRequest(requestOf(daily), new Date());
    const hash = requestHash(request, { platform: 'sandbox', revision: config.revision });
    const tables = [...resourcesOf(main, 'AWS::Glue::Table').values()].map(({ Properties }) =>
      JSON.stringify(Properties.TableInput.Parameters),
    );
    expect(tables.filter((parameters) => parameters.includes(hash))).toHaveLength(1);
  });

  it('P6: has nothing of the secret in its template', () => {
    expect(JSON.stringify(main.template)).not.toMatch(/SecretString|\{\{resolve:|client_secret/);
    expect(JSON.stringify(platform.template)).not.toMatch(/\{\{resolve:/);
  });
});

describe('a wrong flag or config', () => {
  const faultsOf = (flag: unknown, config: object): readonly string[] => {
    try {
      addSandboxStacks(createApp(flag), config as typeof SANDBOX_CONFIG, BUNDLES);
    } catch (error) {
      if (error instanceof InvalidConfig) return error.faults;
      throw error;
    }
    return [];
  };
  const withAcme = { ...SANDBOX_CONFIG, accounts: { ...SANDBOX_CONFIG.accounts, acme: {} } };
  const WRONG_FLAG = '-c sandbox: must be true, or absent';
  const OTHER_ACCOUNT = 'accounts.acme: the sandbox has only the account sandbox';

  it('of the flag is one fault', () => {
    expect(faultsOf('yes', SANDBOX_CONFIG)).toEqual([WRONG_FLAG]);
  });

  it('with another account is one fault, with and without the flag', () => {
    const accounts = expect.arrayContaining([OTHER_ACCOUNT]);
    expect(faultsOf('true', withAcme)).toEqual(accounts);
    expect(faultsOf(undefined, withAcme)).toEqual(accounts);
  });

  it('with a platform names everything at once', () => {
    expect(faultsOf('yes', CONTEXT)).toEqual([
      WRONG_FLAG,
      'base_url: must be "sandbox" where the sandbox is deployed',
      OTHER_ACCOUNT,
      'accounts.globex: the sandbox has only the account sandbox',
    ]);
  });

  it('with a key is one fault, because the key would stay', () => {
    expect(faultsOf('true', { ...SANDBOX_CONFIG, kms_key: 'create' })).toEqual([
      'kms_key: cannot be combined with the sandbox, whose removal keeps nothing',
    ]);
  });

  it('of a stack without the sandbox is refused', () => {
    expect(() => new ExportStack(createApp(undefined), SANDBOX_CONFIG, BUNDLES)).toThrow(
      'base_url: "sandbox" needs the prop sandbox',
    );
  });
});

it('what both stacks cost in a month is in the reference', () => {
  const alarmsAndSecrets = monthlyCost(main).total + monthlyCost(platform).total;
  const reference = readFileSync(join(ROOT, 'infra/CONFIG.md'), 'utf8');
  expect(reference).toContain(`| the two stacks of the sandbox, a month | ${alarmsAndSecrets.toFixed(2)} |`);
});
