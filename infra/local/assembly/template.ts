import { join } from 'node:path';
import type { FunctionSpec } from '../lambda/lambda.ts';
import { ACCOUNT, REGION } from '../s3/server.ts';
import type { Assembly } from './assembly.ts';

/** A synthesized CloudFormation template. */
export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** CDK appends this to a construct's path. */
const LOGICAL_ID_HASH = /[0-9A-F]{8}$/;

/**
 * Reads the bucket, the functions and the state machine as CloudFormation would create them, with names made
 * from the stack's and the constructs'.
 *
 * @param codeOf returns the folder of a function's bundle
 * @throws Error for a reference that our templates do not use
 */
export function readTemplate(
  { Resources }: Template,
  stack: string,
  codeOf: (functionId: string) => string,
): Omit<Assembly, 'interpreter'> {
  const ofType = (type: string) => Object.entries(Resources).filter(([, resource]) => resource.Type === type);
  const nameOf = (id: string) => `${stack}-${id.replace(LOGICAL_ID_HASH, '')}`;
  const arnOf = (id: string) => `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${nameOf(id)}`;
  const [[bucketId = ''] = []] = ofType('AWS::S3::Bucket');
  const [[machineId = '', machine] = []] = ofType('AWS::StepFunctions::StateMachine');
  const functions = ofType('AWS::Lambda::Function');
  const bucket = nameOf(bucketId).toLowerCase();
  const references: (readonly [reference: object, text: string])[] = [
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ Ref: 'AWS::Region' }, REGION],
    [{ Ref: 'AWS::AccountId' }, ACCOUNT],
    [{ Ref: bucketId }, bucket],
    ...functions.map(([id]) => [{ 'Fn::GetAtt': [id, 'Arn'] }, arnOf(id)] as const),
  ];
  const texts = new Map(references.map(([reference, text]) => [JSON.stringify(reference), text]));
  const resolve = (value: unknown): string => {
    if (typeof value === 'string') return value;
    const { 'Fn::Join': join } = Object(value) as { 'Fn::Join'?: [string, unknown[]] };
    if (join) return join[1].map(resolve).join(join[0]);
    const text = texts.get(JSON.stringify(value));
    if (text === undefined) throw new Error(`The local run cannot resolve ${JSON.stringify(value)}`);
    return text;
  };
  return {
    stack,
    bucket,
    stateMachine: {
      arn: `arn:aws:states:${REGION}:${ACCOUNT}:stateMachine:${nameOf(machineId)}`,
      name: nameOf(machineId),
      definition: JSON.parse(resolve(machine?.Properties?.DefinitionString)),
    },
    functions: functions.map(([id, { Properties = {} }]) =>
      readFunction({ name: nameOf(id), arn: arnOf(id) }, Properties, codeOf(id), resolve),
    ),
  };
}

function readFunction(
  { name, arn }: Pick<FunctionSpec, 'name' | 'arn'>,
  properties: Readonly<Record<string, unknown>>,
  folder: string,
  resolve: (value: unknown) => string,
): FunctionSpec {
  const { Environment, Timeout, MemorySize } = properties;
  const { Variables = {} } = Object(Environment) as { Variables?: Record<string, unknown> };
  const variables = Object.entries(Variables).map(([key, value]) => [key, resolve(value)]);
  const memoryMb = Number(MemorySize);
  return {
    name,
    arn,
    file: join(folder, 'index.cjs'),
    // The variables of Lambda's runtime that our functions, their logger or the SDK read.
    environment: {
      AWS_REGION: REGION,
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      TZ: ':UTC',
      ...Object.fromEntries(variables),
    },
    timeoutSeconds: Number(Timeout),
    memoryMb,
  };
}
