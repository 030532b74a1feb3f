import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { errors } from '../../../functions/workflow/errors.ts';
import { ExportWorkflow } from '../../../infra/constructs/export-workflow.ts';
import { POLL_SECONDS, retries } from '../../../infra/constructs/retries.ts';
import type { StepName } from '../../../infra/constructs/workflow-states.ts';

interface State {
  readonly Type: string;
  readonly Next?: string;
  readonly End?: true;
  readonly Default?: string;
  readonly Choices?: readonly { readonly Next: string }[];
  readonly Catch?: readonly { readonly ErrorEquals: readonly string[]; readonly Next: string }[];
  readonly Retry?: readonly {
    readonly ErrorEquals: readonly string[];
    readonly IntervalSeconds: number;
    readonly JitterStrategy: string;
  }[];
  readonly TimeoutSeconds?: number;
  readonly ItemProcessor?: Machine;
  readonly ToleratedFailurePercentage?: number;
}
interface Machine {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
}

function synthesize(): Machine {
  const stack = new Stack(new App());
  const names = Object.keys(retries).filter((name): name is StepName => name !== 'Announce');
  const functions = names.map((name) => {
    const props = { code: Code.fromInline('-'), handler: 'index.handler', runtime: Runtime.NODEJS_24_X };
    return [name, new LambdaFunction(stack, name, props)] as const;
  });
  new ExportWorkflow(stack, 'Workflow', { functions: Object.fromEntries(functions) as never });
  const [machine] = Object.values(
    Template.fromStack(stack).findResources('AWS::StepFunctions::StateMachine'),
  );
  const parts: unknown[] = machine?.Properties.DefinitionString['Fn::Join'][1];
  return JSON.parse(parts.map((part) => (typeof part === 'string' ? part : 'arn')).join(''));
}

const machine = synthesize();
const window = machine.States.ExportWindows?.ItemProcessor as Machine;
const tasks = Object.entries({ ...machine.States, ...window.States }).filter(
  ([, { Type }]) => Type === 'Task',
);

/** Every state that can follow, over whatever arrow. */
function following({ Next, Default, Choices = [], Catch = [] }: State): string[] {
  return [
    Next,
    Default,
    ...Choices.map((choice) => choice.Next),
    ...Catch.map((catcher) => catcher.Next),
  ].filter((next) => next !== undefined);
}

/** The states from which `target` can be reached without passing through `gate`. */
function reaching(target: string, gate: string): Set<string> {
  const found = new Set<string>();
  for (let size = -1; size < found.size; ) {
    size = found.size;
    for (const [name, state] of Object.entries(window.States)) {
      if (name === gate) continue;
      if (following(state).some((next) => next === target || found.has(next))) found.add(name);
    }
  }
  return found;
}

describe('the state machine', () => {
  it.each([
    'CheckReport',
    'SaveReport',
  ])('P3: no way from one GET of a report to the next one, %s, leads past WaitForReport', (name) => {
    const before = reaching(name, 'WaitForReport');
    for (const getter of ['CreateReport', 'CheckReport', 'SaveReport']) expect(before).not.toContain(getter);
  });

  it.each([
    'CheckReport',
    'SaveReport',
  ])('P3: %s is repeated after 10 s or more, and without jitter', (name) => {
    for (const retry of window.States[name]?.Retry ?? []) {
      expect(retry.IntervalSeconds).toBeGreaterThanOrEqual(POLL_SECONDS);
      expect(retry.JitterStrategy).toBe('NONE');
    }
  });

  it('repeats POST /reports at most once where its function was killed, and leaves a lost answer to it', () => {
    const retries = window.States.CreateReport?.Retry ?? [];
    const killed = retries.filter(({ ErrorEquals }) => ErrorEquals.includes('Lambda.Unknown'));
    expect(killed).toEqual([expect.objectContaining({ MaxAttempts: 1 })]);
    const repeated = retries.flatMap(({ ErrorEquals }) => ErrorEquals);
    expect(repeated).not.toContain('AnswerLost');
    expect(repeated).not.toContain('AnswerUnreadable');
  });

  it('lets the other windows go on when the execution of one dies', () => {
    expect(machine.States.ExportWindows?.ToleratedFailurePercentage).toBe(100);
  });

  it('names only errors that a step can throw, and what AWS reports', () => {
    const named = tasks.flatMap(([, { Retry = [], Catch = [] }]) =>
      [...Retry, ...Catch].flatMap(({ ErrorEquals }) => ErrorEquals),
    );
    const ours = named.filter((name) => !/^(States|Lambda|Sandbox|Runtime)\./.test(name));
    for (const name of ours) expect(Object.keys(errors)).toContain(name);
    expect(ours).toContain('CopyFailed');
  });

  it('bounds every task in time, and catches whatever one fails with but those that end a failure', () => {
    for (const [name, task] of tasks) {
      expect(task.TimeoutSeconds, name).toBeGreaterThan(0);
      if (['DescribeFailure', 'DescribeWindowFailure'].includes(name)) continue;
      expect(task.Catch?.at(-1)?.ErrorEquals, name).toEqual(['States.ALL']);
    }
  });

  it('28: tries a function that was killed again in every state, whatever Lambda calls its end', () => {
    const ends = ['Runtime.ExitError', 'Runtime.OutOfMemory', 'Sandbox.Timedout', 'Lambda.Unknown'];
    const functions = tasks.filter(([name]) => !name.startsWith('Announce'));
    for (const [name, { Retry = [] }] of functions) {
      const retry = Retry.find(({ ErrorEquals }) => ErrorEquals.includes('Lambda.Unknown'));
      expect(retry?.ErrorEquals, name).toEqual(expect.arrayContaining(ends));
    }
  });

  it('carries neither a token nor a URL', () => {
    expect(JSON.stringify(machine)).not.toMatch(/access_token|download_url|client_secret/);
  });
});
