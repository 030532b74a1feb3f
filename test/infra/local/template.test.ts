import { describe, expect, test } from 'vitest';
import { readStateMachine, taskResources } from '../../../infra/local/definition.ts';
import { nameOf, type Place, resolve, type Template } from '../../../infra/local/template.ts';
import { readFunctions } from '../../../infra/local/template-functions.ts';

const PLACE: Place = { account: '000000000000', region: 'us-east-1', stack: 'exports' };

const TEMPLATE: Template = {
  Resources: {
    Bucket83908E77: { Type: 'AWS::S3::Bucket' },
    Token: { Type: 'AWS::SecretsManager::Secret', Properties: { Name: 'exports/acme/token' } },
    GetToken1A2B3C4D: {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Handler: 'index.handler',
        MemorySize: 256,
        Timeout: 90,
        ReservedConcurrentExecutions: 1,
        Environment: {
          Variables: { BUCKET: { Ref: 'Bucket83908E77' }, BUCKET_OWNER: { Ref: 'AWS::AccountId' } },
        },
      },
    },
    Machine: {
      Type: 'AWS::StepFunctions::StateMachine',
      Properties: {
        DefinitionString: {
          'Fn::Join': [
            '',
            [
              '{"StartAt":"Get","States":{"Get":{"Type":"Task","TimeoutSeconds":9,"End":true,"Resource":"',
              { 'Fn::GetAtt': ['GetToken1A2B3C4D', 'Arn'] },
              '"}}}',
            ],
          ],
        },
      },
    },
  },
};

describe('resolve', () => {
  test.each([
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ Ref: 'Bucket83908E77' }, 'exports-bucket'],
    [{ 'Fn::GetAtt': ['Bucket83908E77', 'Arn'] }, 'arn:aws:s3:::exports-bucket'],
    [{ Ref: 'Token' }, 'arn:aws:secretsmanager:us-east-1:000000000000:secret:exports/acme/token'],
    [{ 'Fn::Join': ['/', ['a', { Ref: 'AWS::Region' }]] }, 'a/us-east-1'],
    [{ some: ['plain', { Ref: 'AWS::StackName' }] }, { some: ['plain', 'exports'] }],
  ])('%j', (value, resolved) => {
    expect(resolve(TEMPLATE, PLACE, value)).toEqual(resolved);
  });

  test.each([
    [{ 'Fn::Cidr': ['10.0.0.0/8', 1] }, 'Fn::Cidr'],
    [{ Ref: 'Absent' }, 'Absent'],
    [{ 'Fn::GetAtt': ['Token', 'Elsewhere'] }, 'Elsewhere'],
  ])('refuses %j, which no template of ours has', (value, named) => {
    expect(() => resolve(TEMPLATE, PLACE, value)).toThrow(named);
  });
});

test('a given name is used, any other is made of the stack and the construct', () => {
  expect(nameOf(TEMPLATE, PLACE, 'Token')).toBe('exports/acme/token');
  expect(nameOf(TEMPLATE, PLACE, 'GetToken1A2B3C4D')).toBe('exports-GetToken');
});

test('the definition names each task by the ARN of its function', () => {
  const { arn, name, definition } = readStateMachine(TEMPLATE, PLACE);
  expect([arn, name]).toEqual([
    'arn:aws:states:us-east-1:000000000000:stateMachine:exports-Machine',
    'exports-Machine',
  ]);
  const [resource] = taskResources(definition).values();
  expect(resource).toBe('arn:aws:lambda:us-east-1:000000000000:function:exports-GetToken');
});

test('a function has the environment of the template, that of the runtime, and what is added here', () => {
  const source = {
    template: TEMPLATE,
    place: PLACE,
    codeOf: () => '/assets/get-token',
    environment: { ADDED: 'yes' },
  };
  const [spec] = readFunctions(source);
  expect(spec).toMatchObject({
    name: 'exports-GetToken',
    file: '/assets/get-token/index.cjs',
    exportName: 'handler',
    timeoutSeconds: 90,
    memoryMb: 256,
    reserved: 1,
  });
  expect(spec?.environment).toMatchObject({
    ADDED: 'yes',
    BUCKET: 'exports-bucket',
    BUCKET_OWNER: '000000000000',
    AWS_LAMBDA_FUNCTION_NAME: 'exports-GetToken',
    LAMBDA_TASK_ROOT: '/assets/get-token',
  });
});
