import { join } from 'node:path';
import type { FunctionSpec } from './function-instance.ts';
import { arnOf, nameOf, type Place, type Resource, resolve, resourcesOf, type Template } from './template.ts';

export interface TemplateFunctions {
  readonly template: Template;
  readonly place: Place;
  /** The directory of a function's bundled code. */
  codeOf(functionId: string): string;
  /** What this machine adds to every function's environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Every function of the template, with all that its thread needs. */
export function readFunctions(source: TemplateFunctions): FunctionSpec[] {
  const functions = resourcesOf(source.template, 'AWS::Lambda::Function');
  return functions.map(([id, resource]) => readFunction(id, resource, source));
}

/** Lambda's own defaults, where the template leaves them out. */
const DEFAULT_TIMEOUT_SECONDS = 3;
const DEFAULT_MEMORY_MB = 128;

function readFunction(id: string, { Properties = {} }: Resource, source: TemplateFunctions): FunctionSpec {
  const { template, place } = source;
  const [file = '', exportName = ''] = String(Properties.Handler).split('.');
  const name = nameOf(template, place, id);
  const memoryMb = Number(Properties.MemorySize ?? DEFAULT_MEMORY_MB);
  const reserved = Properties.ReservedConcurrentExecutions;
  const code = source.codeOf(id);
  return {
    name,
    arn: arnOf(template, place, id),
    file: join(code, `${file}.cjs`),
    exportName,
    environment: {
      ...runtimeEnvironment(name, memoryMb, code, place),
      ...variablesOf(Properties, source),
      ...source.environment,
    },
    timeoutSeconds: Number(Properties.Timeout ?? DEFAULT_TIMEOUT_SECONDS),
    memoryMb,
    ...(reserved !== undefined && { reserved: Number(reserved) }),
  };
}

function variablesOf(
  { Environment }: Readonly<Record<string, unknown>>,
  { template, place }: TemplateFunctions,
): Record<string, string> {
  const { Variables = {} } = (Environment ?? {}) as { Variables?: Record<string, unknown> };
  return Object.fromEntries(
    Object.entries(Variables).map(([key, value]) => [key, String(resolve(template, place, value))]),
  );
}

/** What Lambda's runtime sets, as far as a handler or the SDK could look at it; the credentials come from the caller. */
function runtimeEnvironment(
  name: string,
  memoryMb: number,
  code: string,
  place: Place,
): Record<string, string> {
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
    LAMBDA_TASK_ROOT: code,
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
  };
}
