import { expect, test } from 'vitest';
import { readTemplate, type Template } from '../../../infra/local/template.ts';

const DEFINITION =
  '{"StartAt":"Get","States":{"Get":{"Type":"Task","TimeoutSeconds":9,"End":true,"Resource":"';
const FUNCTION_ARN = 'arn:aws:lambda:us-east-1:000000000000:function:exports-GetToken';
const BUCKET = { Bucket83908E77: { Type: 'AWS::S3::Bucket' } };
const MACHINE = {
  Machine: {
    Type: 'AWS::StepFunctions::StateMachine',
    Properties: {
      DefinitionString: {
        'Fn::Join': ['', [DEFINITION, { 'Fn::GetAtt': ['GetToken1A2B3C4D', 'Arn'] }, '"}}}']],
      },
    },
  },
};

function read(Properties: Record<string, unknown>) {
  const GetToken1A2B3C4D = { Type: 'AWS::Lambda::Function', Properties };
  const template: Template = { Resources: { ...BUCKET, ...MACHINE, GetToken1A2B3C4D } };
  return readTemplate(template, 'exports', () => 'functions/get-token');
}

test('reads a function with the variables of the template and of the runtime', () => {
  const Variables = {
    BUCKET: { Ref: 'Bucket83908E77' },
    OWNER: { 'Fn::Join': ['/', ['a', { Ref: 'AWS::AccountId' }]] },
  };
  const whole = { MemorySize: 256, Timeout: 90, ReservedConcurrentExecutions: 1, Environment: { Variables } };
  expect(read(whole).functions).toMatchObject([
    {
      name: 'exports-GetToken',
      arn: FUNCTION_ARN,
      file: 'functions/get-token/index.cjs',
      timeoutSeconds: 90,
      memoryMb: 256,
      reserved: 1,
      environment: {
        BUCKET: 'exports-bucket',
        OWNER: 'a/000000000000',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
      },
    },
  ]);
});

test.each([
  { 'Fn::Cidr': ['10.0.0.0/8', 1] },
  { Ref: 'Absent' },
  { 'Fn::GetAtt': ['Bucket83908E77', 'Elsewhere'] },
])('refuses %j, which our templates do not use', (value) => {
  expect(() => read({ Environment: { Variables: { VALUE: value } } })).toThrow(JSON.stringify(value));
});
