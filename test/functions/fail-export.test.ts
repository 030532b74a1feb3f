import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openTaskAnswer } from '../../functions/aws/task-answer.ts';
import { failExport } from '../../functions/fail-export.ts';
import { startTaskAnswers, type TaskAnswers } from '../../infra/local/task-answers.ts';

const failure = { error: 'RequestRefused', happened: 'The platform said "no".', execution: 'daily-1' };
const request = { name: 'daily', account: 'acme' };
const STARTED = '2026-11-21T06:00:00.000Z';

let stepFunctions: TaskAnswers;
beforeAll(async () => {
  stepFunctions = await startTaskAnswers();
});
afterAll(() => stepFunctions.close());

beforeEach(() => {
  vi.stubEnv('AWS_ENDPOINT_URL_SFN', stepFunctions.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});
afterEach(() => void vi.unstubAllEnvs());

/** A try of the state, and what it is told. */
function enter(state: { failure?: typeof failure; redrives?: number; input?: unknown } = {}) {
  const task_token = randomUUID();
  const { answer, close } = stepFunctions.wait(task_token);
  const about = {
    task_token,
    failure,
    error: failure.error,
    redrives_before: 1,
    redrives: 1,
    input: request,
    started_at: STARTED,
  };
  return { answer, close, run: () => failExport({ ...about, ...state }, { answer: openTaskAnswer() }) };
}

describe('FailExport', () => {
  it('ends the execution with the card: its error as Error, the whole of it as Cause', async () => {
    const { answer, run } = enter();
    await run();
    await expect(answer).rejects.toMatchObject({ name: 'RequestRefused', message: JSON.stringify(failure) });
  });

  it('has a Cause that is as long as Step Functions takes, and no longer', async () => {
    const rest = 32_768 - JSON.stringify({ ...failure, happened: '' }).length;
    const longest = enter({ failure: { ...failure, happened: 'x'.repeat(rest) } });
    await longest.run();
    await expect(longest.answer).rejects.toMatchObject({ name: 'RequestRefused' });
    const over = enter({ failure: { ...failure, happened: 'x'.repeat(rest + 1) } });
    await expect(over.run()).rejects.toThrow('ValidationException');
  });

  it.each([
    ['a request', request, { ...request, only_missing: STARTED }],
    [
      'one that had asked for no more',
      { ...request, only_missing: true },
      { ...request, only_missing: true },
    ],
    ['what was no request', 'nonsense', 'nonsense'],
  ])('30: after a redrive it gives on %s, for the windows that are missing', async (_, input, expected) => {
    const { answer, run } = enter({ redrives: 2, input });
    await run();
    expect(await answer).toEqual(expected);
  });

  it('is done where its try is over: it was answered, timed out, or is not known any more', async () => {
    const answered = enter();
    await answered.run();
    await answered.run();
    const late = enter();
    late.close();
    await late.run();
    await failExport(
      {
        task_token: 'unknown',
        failure,
        error: 'X',
        redrives_before: 0,
        redrives: 0,
        input: request,
        started_at: STARTED,
      },
      { answer: openTaskAnswer() },
    );
    const errors = stepFunctions.journal.slice(-4).map(({ error }) => error);
    expect(errors).toEqual([undefined, 'TaskTimedOut', 'TaskTimedOut', 'InvalidToken']);
  });

  it.each([
    ['InternalServerError', 'ServiceUnavailable'],
    ['reset', 'ServiceUnavailable'],
    ['lost answer', 'ServiceUnavailable'],
    ['AccessDeniedException', 'AccessRefused'],
  ] as const)('calls once, and leaves it to the state machine to repeat what ends with %s', async (fault, name) => {
    const before = stepFunctions.journal.length;
    stepFunctions.faults.push(fault);
    await expect(enter().run()).rejects.toMatchObject({ name });
    expect(stepFunctions.journal.slice(before)).toHaveLength(1);
  });
});
