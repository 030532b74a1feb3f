import { expect } from 'vitest';
import type { Synthesized } from '../../infra/synthesize.ts';
import { readable, resourcesOf } from './stack.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** A role's permissions as sorted lines `action resource`, with ` when condition` if there is one. All must be plain Allow statements. */
export function allowedIn(stack: Synthesized, role: string): string[] {
  const attached = [...resourcesOf(stack, 'AWS::IAM::Policy').values()].filter(({ Properties }) =>
    (readable(Properties.Roles) as string[]).includes(`<${role}>`),
  );
  const statements: Statement[] = attached.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
  return statements
    .flatMap(({ Effect, Action, Resource, Condition, ...rest }) => {
      expect([Effect, rest]).toEqual(['Allow', {}]);
      const when = Condition === undefined ? '' : ` when ${JSON.stringify(readable(Condition))}`;
      return [Resource]
        .flat()
        .flatMap((resource) => [Action].flat().map((action) => `${action} ${readable(resource)}${when}`));
    })
    .sort();
}
