import { describe, expect, it } from 'vitest';
import { MIN_WAIT } from '../../../../functions/decisions/waits.ts';
import { following, type Machine, machineOf, sum, waitsOf } from '../../../support/bounds.ts';
import { synthesizeStack } from '../../../support/stack.ts';

const machine = machineOf(synthesizeStack());
const window = machine.States.ExportWindows?.ItemProcessor as Machine;
const tasks = Object.entries({ ...machine.States, ...window.States }).filter(
  ([, { Type }]) => Type === 'Task',
);

/** The states of a window from which `target` can be reached without passing through `gate`. */
function reaching(target: string, gate: string): Set<string> {
  const states = new Set<string>();
  for (let size = -1; size < states.size; ) {
    size = states.size;
    for (const [name, state] of Object.entries(window.States)) {
      if (name === gate) continue;
      if (following(state).some((next) => next === target || states.has(next))) states.add(name);
    }
  }
  return states;
}

/** The seconds before the first retry after an error. */
function firstWait(name: string, error: string): number | undefined {
  const state = machine.States[name] ?? window.States[name];
  return state?.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes(error))?.IntervalSeconds;
}

describe('the state machine', () => {
  const GETTERS = ['CheckReport', 'SaveReport'];

  it.each(GETTERS)('P3: reaches %s from a GET of a report only through WaitForReport', (name) => {
    const before = reaching(name, 'WaitForReport');
    for (const getter of ['CreateReport', 'CheckReport', 'SaveReport']) expect(before).not.toContain(getter);
  });

  it.each(GETTERS)('P3: retries %s after 10 s or more and without jitter', (name) => {
    const { Retry = [] } = window.States[name] ?? {};
    expect(Retry).not.toEqual([]);
    for (const retry of Retry) {
      expect(retry.IntervalSeconds).toBeGreaterThanOrEqual(MIN_WAIT);
      expect(retry.JitterStrategy).toBe('NONE');
    }
  });

  it.each(GETTERS)('P3: tells %s the redrives of its own execution, and no state without a GET', (name) => {
    expect(window.States[name]?.Parameters).toMatchObject({ 'redrive_count.$': '$$.Execution.RedriveCount' });
    const told = tasks.filter(([, task]) => JSON.stringify(task).includes('RedriveCount'));
    expect(told.map(([state]) => state).sort()).toEqual(['CheckReport', 'SaveReport']);
  });

  const STEPS = ['GetToken', 'GetWindowToken', 'RenewToken', 'CreateReport'];
  it.each(STEPS)('7: retries %s a second after the first answer 5xx', (name) => {
    expect(firstWait(name, 'PlatformUnavailable')).toBe(1);
    expect(firstWait(name, 'ServiceUnavailable')).toBe(1);
  });

  it('10: repeats POST /reports once at most when its function is killed, and never after a lost answer', () => {
    const retries = window.States.CreateReport?.Retry ?? [];
    const killed = retries.filter(({ ErrorEquals }) => ErrorEquals.includes('Lambda.Unknown'));
    expect(killed).toEqual([expect.objectContaining({ MaxAttempts: 1 })]);
    const repeated = retries.flatMap(({ ErrorEquals }) => ErrorEquals);
    expect(repeated).not.toContain('AnswerLost');
    expect(repeated).not.toContain('AnswerUnreadable');
  });

  it('lets the other windows continue when the execution of one dies', () => {
    expect(machine.States.ExportWindows?.ToleratedFailurePercentage).toBe(100);
  });

  it('gives every task a timeout, and catches every error except those of describing a failure', () => {
    for (const [name, task] of tasks) {
      expect(task.TimeoutSeconds, name).toBeGreaterThan(0);
      if (['DescribeFailure', 'DescribeWindowFailure'].includes(name)) continue;
      expect(task.Catch?.at(-1)?.ErrorEquals, name).toEqual(['States.ALL']);
    }
  });

  it('28: retries every step whose function was killed or asleep, under every name that Lambda gives it', () => {
    const ends = ['Runtime.ExitError', 'Runtime.OutOfMemory', 'Sandbox.Timedout', 'Lambda.Unknown'];
    const asleep = 'Lambda.CodeArtifactUserPendingException';
    const functions = tasks.filter(([name]) => !name.startsWith('Announce'));
    for (const [name, { Retry = [] }] of functions) {
      const retry = Retry.find(({ ErrorEquals }) => ErrorEquals.includes('Lambda.Unknown'));
      expect(retry?.ErrorEquals, name).toEqual(expect.arrayContaining(ends));
      const waking = Retry.find(({ ErrorEquals }) => ErrorEquals.includes(asleep));
      expect(sum(waking ? waitsOf(waking) : []), name).toBeGreaterThan(240);
    }
  });
});
