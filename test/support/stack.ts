import { join } from 'node:path';
import { expect } from 'vitest';
import { FUNCTIONS_FOLDER, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { InvalidConfig, parseConfig } from '../../infra/stack/config/config.ts';
import { type Synthesized, synthesize } from '../../infra/stack/synthesize.ts';

/** A config with two accounts, one of which has a scheduled export. */
export const CONTEXT = {
  stack: 'exports-test',
  base_url: 'https://api.platform.example/v1',
  revision: '2026-09-01',
  accounts: {
    acme: { time_zone: 'Europe/Berlin', advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'] },
    globex: { advertiser_ids: ['0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02'] },
  },
  exports: [
    {
      name: 'daily',
      accounts: ['acme'],
      metrics: ['spend'],
      runs: [{ period: 'yesterday', schedule: 'cron(30 0 * * ? *)' }],
    },
    {
      name: 'backfill',
      accounts: ['globex'],
      start_date: '2025-01-01',
      end_date: '2026-01-01',
      metrics: ['spend'],
    },
  ],
};

/** The faults of a config; empty if it is valid. */
export function configFaults(context: unknown): readonly string[] {
  try {
    parseConfig(context);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.faults;
    throw error;
  }
  return [];
}

/** The bundled functions. */
export const BUNDLES = join(prepareAssembly(), FUNCTIONS_FOLDER);

const stacks = new Map<string, Synthesized>();

/** The stack of {@link CONTEXT} with these changes. Tests share it, so its template is frozen. */
export function synthesizeStack(changes: Readonly<Record<string, unknown>> = {}): Synthesized {
  const key = JSON.stringify(changes);
  const known = stacks.get(key);
  if (known) return known;
  const stack = synthesize({ ...CONTEXT, ...changes }, BUNDLES);
  deepFreeze(stack.template);
  stacks.set(key, stack);
  return stack;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.values(Object.freeze(value)).forEach(deepFreeze);
}

interface Resource {
  readonly Type: string;
  readonly Properties: Synthesized['template'];
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** The resources of a type by their logical ids without CDK's hash, such as `FunctionsGetToken`. */
export function resourcesOf(
  { template }: Pick<Synthesized, 'template'>,
  type: string,
): Map<string, Resource> {
  const all = Object.entries<Resource>(template.Resources).filter(([, { Type }]) => Type === type);
  return new Map(all.map(([id, resource]) => [withoutHash(id), resource]));
}

/** A state machine's definition. A task names its function as `<FunctionsGetToken.Arn>`. */
export function definitionOf(stack: Synthesized, machine: string) {
  const machines = [...resourcesOf(stack, 'AWS::StepFunctions::StateMachine')];
  const definition = machines.find(([id]) => id.startsWith(machine));
  return JSON.parse(String(readable(definition?.[1].Properties.DefinitionString)));
}

/** A value of the template with references written as `<Bucket>` and `<Bucket.Arn>`. */
export function readable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  const [[name, argument] = []] = Object.entries(value);
  if (name === 'Ref') return `<${withoutHash(String(argument))}>`;
  if (name === 'Fn::GetAtt') return `<${withoutHash(argument[0])}.${argument[1]}>`;
  if (name === 'Fn::Join')
    return (readable(argument[1]) as unknown[])
      .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
      .join(argument[0]);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, readable(inner)]));
}

function withoutHash(logicalId: string): string {
  return logicalId.replace(/[0-9A-F]{8}$/, '');
}

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** A role's permissions as sorted lines `action resource when condition`. A denied one begins with `deny`. */
export function allowedIn(stack: Pick<Synthesized, 'template'>, role: string): string[] {
  const attached = [...resourcesOf(stack, 'AWS::IAM::Policy').values()].filter(({ Properties }) =>
    (readable(Properties.Roles) as string[]).includes(`<${role}>`),
  );
  return permissionsOf(attached.flatMap(({ Properties }) => Properties.PolicyDocument.Statement));
}

/** The permissions of statements, as {@link allowedIn} has them. */
export function permissionsOf(statements: readonly Statement[]): string[] {
  return statements
    .flatMap(({ Effect, Action, Resource, Condition, ...rest }) => {
      expect(rest).toEqual({});
      const denied = Effect === 'Deny' ? 'deny ' : '';
      const when = Condition === undefined ? '' : ` when ${JSON.stringify(readable(Condition))}`;
      return [Resource]
        .flat()
        .flatMap((resource) =>
          [Action].flat().map((action) => `${denied}${action} ${readable(resource)}${when}`),
        );
    })
    .sort();
}
