/** A synthesized CloudFormation template, and what its references mean on this machine. */
export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}

export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** The AWS account, Region and stack that this machine stands for. */
export interface Place {
  readonly account: string;
  readonly region: string;
  readonly stack: string;
}

/** The property of each resource type that names it, and the service part of its ARN. */
const NAMED: Readonly<Record<string, { property: string; arn: string }>> = {
  'AWS::Lambda::Function': { property: 'FunctionName', arn: 'lambda:REGION:ACCOUNT:function:NAME' },
  'AWS::S3::Bucket': { property: 'BucketName', arn: 's3:::NAME' },
  'AWS::SecretsManager::Secret': { property: 'Name', arn: 'secretsmanager:REGION:ACCOUNT:secret:NAME' },
  'AWS::StepFunctions::StateMachine': {
    property: 'StateMachineName',
    arn: 'states:REGION:ACCOUNT:stateMachine:NAME',
  },
};

/** Types whose `Ref` is their ARN; the others' is their name. */
const REF_IS_ARN = new Set(['AWS::SecretsManager::Secret', 'AWS::StepFunctions::StateMachine']);

/** What CDK appends to a construct's path. */
const LOGICAL_ID_HASH = /[0-9A-F]{8}$/;

export function resourcesOf(template: Template, type: string): [logicalId: string, resource: Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

/** The name that a resource was given, or one made of the stack's and its own, as CloudFormation would. */
export function nameOf(template: Template, place: Place, logicalId: string): string {
  const resource = template.Resources[logicalId];
  const property = resource && NAMED[resource.Type]?.property;
  const given = property ? resource.Properties?.[property] : undefined;
  if (given !== undefined) return text(resolve(template, place, given));
  const name = `${place.stack}-${logicalId.replace(LOGICAL_ID_HASH, '')}`;
  return resource?.Type === 'AWS::S3::Bucket' ? name.toLowerCase() : name;
}

export function arnOf(template: Template, place: Place, logicalId: string): string {
  const type = template.Resources[logicalId]?.Type ?? '';
  const arn = NAMED[type]?.arn ?? 'local:REGION:ACCOUNT:NAME';
  const name = nameOf(template, place, logicalId);
  return `arn:aws:${arn.replace('REGION', place.region).replace('ACCOUNT', place.account).replace('NAME', name)}`;
}

/**
 * A value of the template with its references resolved.
 *
 * @throws Error for an intrinsic function that no synthesized template of ours has
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
    return parts.map(text).join(separator);
  }
  throw new Error(`The local run does not know ${name}`);
}

function resolveRef(template: Template, place: Place, id: string): string {
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::Region': place.region,
    'AWS::AccountId': place.account,
    'AWS::StackName': place.stack,
    'AWS::StackId': `arn:aws:cloudformation:${place.region}:${place.account}:stack/${place.stack}/local`,
  };
  if (pseudo[id] !== undefined) return pseudo[id];
  const type = template.Resources[id]?.Type;
  if (type === undefined) throw new Error(`The template has no resource ${id}`);
  return REF_IS_ARN.has(type) ? arnOf(template, place, id) : nameOf(template, place, id);
}

function resolveAttribute(template: Template, place: Place, argument: unknown): string {
  const [id = '', attribute] = argument as string[];
  if (attribute === 'Arn') return arnOf(template, place, id);
  if (attribute === 'Name') return nameOf(template, place, id);
  throw new Error(`The local run does not know the attribute ${attribute} of ${id}`);
}

function text(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new Error(`The local run cannot write ${JSON.stringify(value)} into a text`);
}
