import { describe, expect, test } from 'vitest';
import {
  type Place,
  readBucket,
  readFunctions,
  readStateMachine,
  resolve,
  type Template,
} from '../../../infra/local/template.ts';

const PLACE: Place = { account: '000000000000', region: 'us-east-1', stack: 'exports' };

const DEFINITION =
  '{"StartAt":"Get","States":{"Get":{"Type":"Task","TimeoutSeconds":9,"End":true,"Resource":"';

const TEMPLATE: Template = {
  Resources: {
    Bucket83908E77: { Type: 'AWS::S3::Bucket' },
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
          'Fn::Join': ['', [DEFINITION, { 'Fn::GetAtt': ['GetToken1A2B3C4D', 'Arn'] }, '"}}}']],
        },
      },
    },
    Named: { Type: 'AWS::Lambda::Function', Properties: { FunctionName: 'by-name', Handler: 'main.run' } },
  },
};

const FUNCTION_ARN = 'arn:aws:lambda:us-east-1:000000000000:function:exports-GetToken';
const MACHINE_ARN = 'arn:aws:states:us-east-1:000000000000:stateMachine:exports-Machine';

describe('resolve', () => {
  test.each([
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ Ref: 'Bucket83908E77' }, 'exports-bucket'],
    [{ 'Fn::GetAtt': ['Bucket83908E77', 'Arn'] }, 'arn:aws:s3:::exports-bucket'],
    [{ Ref: 'Machine' }, MACHINE_ARN],
    [{ 'Fn::Join': ['/', ['a', { Ref: 'AWS::Region' }]] }, 'a/us-east-1'],
    [{ some: ['plain', { Ref: 'AWS::StackName' }] }, { some: ['plain', 'exports'] }],
  ])('resolves %j', (value, resolved) => {
    expect(resolve(TEMPLATE, PLACE, value)).toEqual(resolved);
  });

  test.each([
    [{ 'Fn::Cidr': ['10.0.0.0/8', 1] }, 'Fn::Cidr'],
    [{ Ref: 'Absent' }, 'Absent'],
    [{ 'Fn::GetAtt': ['Bucket83908E77', 'Elsewhere'] }, 'Elsewhere'],
  ])('refuses %j, which our templates do not use', (value, named) => {
    expect(() => resolve(TEMPLATE, PLACE, value)).toThrow(named);
  });
});

test('names the bucket after the stack and the construct', () => {
  expect(readBucket(TEMPLATE, PLACE)).toBe('exports-bucket');
});

test('reads the definition with the ARNs of its functions', () => {
  const { arn, name, definition } = readStateMachine(TEMPLATE, PLACE);
  expect([arn, name]).toEqual([MACHINE_ARN, 'exports-Machine']);
  expect(definition.States.Get?.Resource).toBe(FUNCTION_ARN);
});

test('reads a function with the variables of the template and of the runtime', () => {
  const [spec] = readFunctions(TEMPLATE, PLACE, () => 'functions/get-token');
  expect(spec).toMatchObject({
    name: 'exports-GetToken',
    arn: FUNCTION_ARN,
    file: 'functions/get-token/index.cjs',
    exportName: 'handler',
    timeoutSeconds: 90,
    memoryMb: 256,
    reserved: 1,
  });
  expect(spec?.environment).toMatchObject({
    BUCKET: 'exports-bucket',
    BUCKET_OWNER: '000000000000',
    AWS_LAMBDA_FUNCTION_NAME: 'exports-GetToken',
  });
});

test('reads a function with a given name and the defaults of Lambda', () => {
  const [, spec] = readFunctions(TEMPLATE, PLACE, () => 'functions/x');
  expect(spec).toMatchObject({
    name: 'by-name',
    file: 'functions/x/main.cjs',
    exportName: 'run',
    timeoutSeconds: 3,
    memoryMb: 128,
  });
});
