import { join } from 'node:path';
import type { Definition } from './definition.ts';
import type { FunctionSpec } from './lambda-instance.ts';

/** A synthesized CloudFormation template. */
export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** The AWS account, Region and stack that the local run stands for. */
export interface Place {
  readonly account: string;
  readonly region: string;
  readonly stack: string;
}

/** By resource type: the property that holds the name, and the ARN without its beginning. */
const NAMED: Readonly<Record<string, { property: string; arn: string }>> = {
  'AWS::Lambda::Function': { property: 'FunctionName', arn: 'lambda:REGION:ACCOUNT:function:NAME' },
  'AWS::S3::Bucket': { property: 'BucketName', arn: 's3:::NAME' },
  'AWS::StepFunctions::StateMachine': {
    property: 'StateMachineName',
    arn: 'states:REGION:ACCOUNT:stateMachine:NAME',
  },
};

/** CDK appends this to a construct's path. */
const LOGICAL_ID_HASH = /[0-9A-F]{8}$/;

function resourcesOf(template: Template, type: string): [logicalId: string, resource: Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

/** @throws Error unless the template has exactly one resource of this type */
function onlyResource(template: Template, type: string): [logicalId: string, resource: Resource] {
  const [first, ...more] = resourcesOf(template, type);
  if (!first || more.length > 0) throw new Error(`The template must have one ${type}`);
  return first;
}

/** Returns the name that the template gives to a resource, or one made from the stack's name and the construct's. */
function nameOf(template: Template, place: Place, logicalId: string): string {
  const resource = template.Resources[logicalId];
  const property = resource && NAMED[resource.Type]?.property;
  const given = property ? resource.Properties?.[property] : undefined;
  if (given !== undefined) return asText(resolve(template, place, given));
  const name = `${place.stack}-${logicalId.replace(LOGICAL_ID_HASH, '')}`;
  return resource?.Type === 'AWS::S3::Bucket' ? name.toLowerCase() : name;
}

function arnOf(template: Template, place: Place, logicalId: string): string {
  const type = template.Resources[logicalId]?.Type ?? '';
  const arn = NAMED[type]?.arn ?? 'local:REGION:ACCOUNT:NAME';
  const name = nameOf(template, place, logicalId);
  return `arn:aws:${arn.replace('REGION', place.region).replace('ACCOUNT', place.account).replace('NAME', name)}`;
}

/**
 * Resolves the references in a value of the template.
 *
 * @throws Error for an intrinsic function that our templates do not use
 */
export function resolve(template: Template, place: Place, value: unknown): unknown {
  const again = (inner: unknown) => resolve(template, place, inner);
  if (Array.isArray(value)) return value.map(again);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? [];
  if (entries.length !== 1 || !(name === 'Ref' || name?.startsWith('Fn::'))) {
    return Object.fromEntries(entries.map(([key, inner]) => [key, again(inner)]));
  }
  if (name === 'Ref') return resolveRef(template, place, String(argument));
  if (name === 'Fn::GetAtt') return resolveAttribute(template, place, argument);
  if (name === 'Fn::Join') {
    const [separator, parts] = again(argument) as [string, unknown[]];
    return parts.map(asText).join(separator);
  }
  throw new Error(`The local run does not support ${name}`);
}

function resolveRef(template: Template, place: Place, id: string): string {
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::Region': place.region,
    'AWS::AccountId': place.account,
    'AWS::StackName': place.stack,
  };
  if (pseudo[id] !== undefined) return pseudo[id];
  const type = template.Resources[id]?.Type;
  if (type === undefined) throw new Error(`The template has no resource ${id}`);
  return type === 'AWS::StepFunctions::StateMachine'
    ? arnOf(template, place, id)
    : nameOf(template, place, id);
}

function resolveAttribute(template: Template, place: Place, argument: unknown): string {
  const [id = '', attribute] = argument as string[];
  if (attribute === 'Arn') return arnOf(template, place, id);
  throw new Error(`The local run does not support the attribute ${attribute} of ${id}`);
}

function asText(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new Error(`The local run cannot write ${JSON.stringify(value)} into a text`);
}

export function readBucket(template: Template, place: Place): string {
  const [id] = onlyResource(template, 'AWS::S3::Bucket');
  return nameOf(template, place, id);
}

/** Reads the state machine as CloudFormation would give it to Step Functions. */
export function readStateMachine(
  template: Template,
  place: Place,
): { arn: string; name: string; definition: Definition } {
  const [id, { Properties }] = onlyResource(template, 'AWS::StepFunctions::StateMachine');
  const definition = JSON.parse(asText(resolve(template, place, Properties?.DefinitionString)));
  return { arn: arnOf(template, place, id), name: nameOf(template, place, id), definition };
}

/** Lambda's defaults. */
const DEFAULT_TIMEOUT_SECONDS = 3;
const DEFAULT_MEMORY_MB = 128;

/** @param codeOf returns the folder of a function's bundle */
export function readFunctions(
  template: Template,
  place: Place,
  codeOf: (functionId: string) => string,
): FunctionSpec[] {
  return resourcesOf(template, 'AWS::Lambda::Function').map(([id, { Properties = {} }]) => {
    const [module = '', exportName = ''] = String(Properties.Handler).split('.');
    const name = nameOf(template, place, id);
    const memoryMb = Number(Properties.MemorySize ?? DEFAULT_MEMORY_MB);
    const reserved = Properties.ReservedConcurrentExecutions;
    return {
      name,
      arn: arnOf(template, place, id),
      file: join(codeOf(id), `${module}.cjs`),
      exportName,
      environment: {
        ...runtimeEnvironment(name, memoryMb, place),
        ...readVariables(Properties, template, place),
      },
      timeoutSeconds: Number(Properties.Timeout ?? DEFAULT_TIMEOUT_SECONDS),
      memoryMb,
      ...(reserved !== undefined && { reserved: Number(reserved) }),
    };
  });
}

function readVariables(
  { Environment }: Readonly<Record<string, unknown>>,
  template: Template,
  place: Place,
): Record<string, string> {
  const { Variables = {} } = (Environment ?? {}) as { Variables?: Record<string, unknown> };
  return Object.fromEntries(
    Object.entries(Variables).map(([key, value]) => [key, asText(resolve(template, place, value))]),
  );
}

/** The variables that Lambda's runtime sets and that a handler or the SDK may read. */
function runtimeEnvironment(name: string, memoryMb: number, place: Place): Record<string, string> {
  return {
    AWS_REGION: place.region,
    AWS_DEFAULT_REGION: place.region,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
  };
}
