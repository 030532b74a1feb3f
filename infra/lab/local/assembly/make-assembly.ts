import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { JsonObject } from '../../../../functions/workflow/json.ts';
import { readConfig } from '../../../stack/config/read-config.ts';
import { bundleFunctions } from '../../../stack/constructs/bundle.ts';
import { synthesize } from '../../../stack/synthesize.ts';
import type { FunctionSpec } from '../lambda/lambda.ts';
import { LOCAL_AWS_ACCOUNT, LOCAL_REGION } from '../s3/server.ts';
import { ASSEMBLY_FILE, type Assembly, FUNCTIONS_FOLDER } from './assembly.ts';
import { bundleInterpreter } from './interpreter.ts';

/** The child process that fills an assembly's folder: `node make-assembly.ts FOLDER CONFIG`. */
const [folder = '', configFile] = process.argv.slice(2);

/** A run replaces these, so that one assembly serves every platform and account. */
const REPLACED = {
  base_url: 'https://platform.invalid',
  accounts: { account: {} },
};

/** CDK appends this to a construct's path. */
const LOGICAL_ID_HASH = /[0-9A-F]{8}$/;

interface Resource {
  readonly Type: string;
  readonly Properties?: JsonObject;
}

// The hosts belong to the config's platform.
const { download_hosts: _, ...configured } = readConfig(configFile);
const bundles = join(folder, FUNCTIONS_FOLDER);
bundleFunctions(bundles);
await bundleInterpreter(folder);
const { template, codeOf } = synthesize({ ...configured, exports: [], ...REPLACED }, bundles);
writeFileSync(join(folder, ASSEMBLY_FILE), JSON.stringify(readResources(template.Resources)));

/**
 * Reads the bucket, the functions and the state machine as CloudFormation would create them, with names made
 * from the stack's and the constructs'.
 *
 * @throws Error for a reference that our templates do not use
 */
function readResources(resources: Readonly<Record<string, Resource>>): Omit<Assembly, 'interpreter'> {
  const { stack } = configured;
  const ofType = (type: string) => Object.entries(resources).filter(([, resource]) => resource.Type === type);
  const nameOf = (id: string) => `${stack}-${id.replace(LOGICAL_ID_HASH, '')}`;
  const arnOf = (id: string) => `arn:aws:lambda:${LOCAL_REGION}:${LOCAL_AWS_ACCOUNT}:function:${nameOf(id)}`;
  const [[bucketId = ''] = []] = ofType('AWS::S3::Bucket');
  const [[machineId = '', machine] = []] = ofType('AWS::StepFunctions::StateMachine');
  const functions = ofType('AWS::Lambda::Function');
  const bucket = nameOf(bucketId).toLowerCase();
  const references: (readonly [reference: object, text: string])[] = [
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ Ref: 'AWS::Region' }, LOCAL_REGION],
    [{ Ref: 'AWS::AccountId' }, LOCAL_AWS_ACCOUNT],
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
  const readFunction = (id: string, { Environment, Timeout, MemorySize }: JsonObject): FunctionSpec => {
    const { Variables = {} } = Object(Environment) as { Variables?: Record<string, unknown> };
    const variables = Object.entries(Variables).map(([key, value]) => [key, resolve(value)]);
    return {
      name: nameOf(id),
      arn: arnOf(id),
      file: join(relative(folder, codeOf(id)), 'index.cjs'),
      // The variables of Lambda's runtime that our functions, their logger or the SDK read.
      environment: {
        AWS_REGION: LOCAL_REGION,
        AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
        AWS_LAMBDA_FUNCTION_NAME: nameOf(id),
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(MemorySize),
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        TZ: ':UTC',
        ...Object.fromEntries(variables),
      },
      timeoutSeconds: Number(Timeout),
      memoryMb: Number(MemorySize),
    };
  };
  return {
    stack,
    bucket,
    stateMachine: {
      arn: `arn:aws:states:${LOCAL_REGION}:${LOCAL_AWS_ACCOUNT}:stateMachine:${nameOf(machineId)}`,
      name: nameOf(machineId),
      definition: JSON.parse(resolve(machine?.Properties?.DefinitionString)),
    },
    functions: functions.map(([id, { Properties = {} }]) => readFunction(id, Properties)),
  };
}
