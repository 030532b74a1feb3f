import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scaledClock } from '../../../infra/local/clock.ts';
import type { FunctionSpec, LogLine } from '../../../infra/local/function-instance.ts';
import { type LocalFunction, openFunction } from '../../../infra/local/functions.ts';
import { MAX_ANSWER_BYTES } from '../../../infra/local/limits.ts';
import { TaskError } from '../../../infra/local/task-error.ts';

/** Stands for a bundled asset; `event.do` chooses what happens. */
const HANDLER = `
let calls = 0;
const deeds = {
  echo: (event) => event,
  count: () => ++calls,
  environment: () => process.env,
  context: (event, { getRemainingTimeInMillis, ...context }) => ({ ...context, left: getRemainingTimeInMillis() }),
  now: () => ({ date: Date.now(), real: performance.timeOrigin + performance.now() }),
  nothing: () => undefined,
  json: () => ({ at: new Date(0), none: undefined }),
  bigint: () => 1n,
  large: ({ bytes }) => 'x'.repeat(bytes),
  throw: () => { throw Object.assign(new Error('no such report'), { name: 'RequestRefused' }); },
  throwText: () => { throw 'only text'; },
  exit: () => process.exit(3),
  later: () => { setTimeout(() => { throw new RangeError('too late'); }); return new Promise(() => {}); },
  unhandled: () => { Promise.reject(new RangeError('nobody')); return new Promise(() => {}); },
  memory: async () => {
    for (const all = []; ; await null) for (let n = 0; n < 10; n++) all.push(new Array(1000).fill(n));
  },
  hang: () => new Promise(() => {}),
  spin: () => { for (;;) {} },
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, 'waited')),
  log: () => { console.log('to stdout'); console.error('to stderr'); },
};
export const handler = async (event, context) => deeds[event.do](event, context);
`;

const CLOCK = scaledClock(1);
let directory = '';
let file = '';
const lines: LogLine[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'functions-'));
  file = join(directory, 'index.mjs');
  await writeFile(file, HANDLER);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function open(spec: Partial<FunctionSpec> = {}, clock = CLOCK): LocalFunction & AsyncDisposable {
  const whole: FunctionSpec = {
    name: 'Step',
    arn: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
    file,
    exportName: 'handler',
    environment: { BUCKET: 'exports' },
    timeoutSeconds: 30,
    memoryMb: 256,
    ...spec,
  };
  const local = openFunction(whole, clock, (line) => lines.push(line));
  return {
    ...local,
    get started() {
      return local.started;
    },
    [Symbol.asyncDispose]: () => local.close(),
  };
}

async function failureOf(
  invocation: Promise<unknown>,
): Promise<{ error: string; cause: Record<string, unknown> }> {
  const error = await invocation.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TaskError)) throw new Error('The invocation did not fail as a task');
  return { error: error.name, cause: JSON.parse(error.message) };
}

describe('what a handler sees', () => {
  test('its environment is what the template gives, and nothing of this process', async () => {
    process.env.LOCAL_CANARY = 'must stay here';
    const environment = { BUCKET: 'exports', NODE_OPTIONS: '--max-semi-space-size=1' };
    await using step = open({ environment });
    expect(await step.invoke({ do: 'environment' })).toEqual(environment);
  });

  test('the context names the function, and its time left is real', async () => {
    await using step = open({ timeoutSeconds: 20 }, scaledClock(1000, Date.now() - 5000));
    const context = (await step.invoke({ do: 'context' })) as Record<string, unknown>;
    expect(context).toMatchObject({
      functionName: 'Step',
      memoryLimitInMB: '256',
      functionVersion: '$LATEST',
    });
    expect(context.awsRequestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(context.left).toBeLessThanOrEqual(20_000);
    expect(context.left).toBeGreaterThan(10_000);
  });

  test('its Date is scaled', async () => {
    await using step = open({}, scaledClock(100, Date.now() - 60_000));
    const { date, real } = (await step.invoke({ do: 'now' })) as { date: number; real: number };
    expect(date - real).toBeGreaterThanOrEqual(99 * 59_000);
  });
});

describe('what comes back', () => {
  test('is what JSON leaves of it', async () => {
    await using step = open();
    expect(await step.invoke({ do: 'nothing' })).toBeNull();
    expect(await step.invoke({ do: 'json' })).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect((await failureOf(step.invoke({ do: 'bigint' }))).error).toBe('TypeError');
  });

  test('may have 6 MB', async () => {
    await using step = open();
    const quotes = 2;
    expect(await step.invoke({ do: 'large', bytes: MAX_ANSWER_BYTES - quotes })).toHaveLength(
      MAX_ANSWER_BYTES - quotes,
    );
    const { error } = await failureOf(step.invoke({ do: 'large', bytes: MAX_ANSWER_BYTES }));
    expect(error).toBe('Function.ResponseSizeTooLarge');
  });

  test('is the name and message of what was thrown', async () => {
    await using step = open();
    const { error, cause } = await failureOf(step.invoke({ do: 'throw' }));
    expect(error).toBe('RequestRefused');
    expect(cause).toMatchObject({ errorType: 'RequestRefused', errorMessage: 'no such report' });
    expect(cause.trace).toEqual(expect.arrayContaining([expect.stringContaining('index.mjs')]));
    expect(await failureOf(step.invoke({ do: 'throwText' }))).toMatchObject({
      error: 'string',
      cause: { errorMessage: 'only text' },
    });
  });

  test('a module without the handler fails every invocation', async () => {
    await using step = open({ exportName: 'absent' });
    expect((await failureOf(step.invoke({}))).error).toBe('Runtime.HandlerNotFound');
  });
});

describe('instances', () => {
  test('are used again while they are warm', async () => {
    await using step = open();
    expect(await step.invoke({ do: 'count' })).toBe(1);
    expect(await step.invoke({ do: 'count' })).toBe(2);
    expect(step.started).toBe(1);
  });

  test('serve one invocation at a time: ten that hang take ten, and the next one waits', async () => {
    await using step = open();
    const hanging = Array.from({ length: 10 }, () => step.invoke({ do: 'hang' }).catch((error) => error));
    const next = step.invoke({ do: 'echo' });
    await expect.poll(() => step.started).toBe(10);
    // Whichever of them are killed, the next one gets an instance of its own.
    await expect.poll(() => step.kill()).toBeGreaterThan(0);
    expect(await next).toEqual({ do: 'echo' });
    expect(await Promise.race(hanging)).toMatchObject({ name: 'Runtime.ExitError' });
  });

  test('reserved concurrency refuses at once, as Lambda does', async () => {
    await using step = open({ reserved: 1 });
    const first = step.invoke({ do: 'wait', ms: 50 });
    await expect(step.invoke({ do: 'echo' })).rejects.toMatchObject({
      name: 'Lambda.TooManyRequestsException',
    });
    expect(await first).toBe('waited');
    expect(await step.invoke({ do: 'echo' })).toEqual({ do: 'echo' });
    expect(step.started).toBe(1);
  });
});

test('where the clock runs faster, reserved concurrency is waited for a moment, and then refused', async () => {
  await using step = open({ reserved: 1 }, scaledClock(100));
  // Its thread is there: a busy machine takes longer than that moment to start one.
  expect(await step.invoke({ do: 'count' })).toBe(1);
  const first = step.invoke({ do: 'wait', ms: 20 });
  expect(await step.invoke({ do: 'count' })).toBe(2);
  expect(await first).toBe('waited');
  const forever = step.invoke({ do: 'hang' }).catch(() => 'killed');
  await expect(step.invoke({ do: 'echo' })).rejects.toMatchObject({
    name: 'Lambda.TooManyRequestsException',
  });
  await step.kill();
  expect(await forever).toBe('killed');
});

describe('a bad end', () => {
  test.each(['hang', 'spin'])('%s: a time-out ends the thread and is Sandbox.Timedout', async (deed) => {
    await using step = open({ timeoutSeconds: 1, reserved: 1 });
    const { error, cause } = await failureOf(step.invoke({ do: deed }));
    expect(error).toBe('Sandbox.Timedout');
    expect(cause.errorMessage).toMatch(/Task timed out after 1\.00 seconds$/);
    expect(await step.invoke({ do: 'count' })).toBe(1);
    expect(step.started).toBe(2);
  });

  test.each([
    ['exit', 'exit status 3'],
    ['later', 'exit status 1'],
    ['unhandled', 'exit status 1'],
  ])('%s: the thread ends, and the next invocation has a new one', async (deed, message) => {
    await using step = open({ reserved: 1 });
    const { error, cause } = await failureOf(step.invoke({ do: deed }));
    expect([error, cause.errorMessage]).toEqual(['Runtime.ExitError', expect.stringContaining(message)]);
    expect(await step.invoke({ do: 'count' })).toBe(1);
  });

  test('what nobody caught is printed, as Node does', async () => {
    await using step = open({ name: 'Careless' });
    await failureOf(step.invoke({ do: 'later' }));
    const printed = lines.filter((line) => line.function === 'Careless');
    expect(printed).toEqual([expect.objectContaining({ stream: 'stderr' })]);
    expect(printed[0]?.text).toContain('too late');
  });

  test('running out of memory is Runtime.OutOfMemory, and this process lives on', async () => {
    await using step = open({ memoryMb: 32 });
    expect((await failureOf(step.invoke({ do: 'memory' }))).error).toBe('Runtime.OutOfMemory');
  });

  test('a kill ends what is in the middle of an invocation', async () => {
    await using step = open();
    expect(await step.invoke({ do: 'count' })).toBe(1);
    const failure = failureOf(step.invoke({ do: 'hang' }));
    expect(await step.kill()).toBe(1);
    expect(await failure).toMatchObject({
      error: 'Runtime.ExitError',
      cause: { errorMessage: expect.stringContaining('killed') },
    });
    expect(await step.kill()).toBe(0);
    expect(await step.invoke({ do: 'count' })).toBe(1);
  });
});

test('what a handler prints is a log line of its function', async () => {
  await using step = open({ name: 'Talker' });
  await step.invoke({ do: 'log' });
  await expect
    .poll(() => lines.filter((line) => line.function === 'Talker'))
    .toEqual(
      expect.arrayContaining([
        { function: 'Talker', stream: 'stdout', text: 'to stdout' },
        { function: 'Talker', stream: 'stderr', text: 'to stderr' },
      ]),
    );
});
