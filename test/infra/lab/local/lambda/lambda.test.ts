import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { scaledClock } from '../../../../../infra/lab/local/clock.ts';
import type { FunctionSpec } from '../../../../../infra/lab/local/lambda/lambda.ts';
import { createLocalFunction, type LocalFunction } from '../../../../../infra/lab/local/lambda/lambda.ts';
import { TaskError } from '../../../../../infra/lab/local/lambda/task-error.ts';
import { CERTIFICATE } from '../../../../support/certificate.ts';
import { errorOf } from '../../../../support/platform.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** A bundle whose handler does what `event.do` names. */
const HANDLER = `
import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
let calls = 0;
const actions = {
  echo: (event) => event,
  count: () => ++calls,
  environment: () => process.env,
  flags: () => process.execArgv,
  context: (event, { getRemainingTimeInMillis, ...context }) => ({ ...context, left: getRemainingTimeInMillis() }),
  nothing: () => undefined,
  json: () => ({ at: new Date(0), none: undefined }),
  bigint: () => 1n,
  throw: () => { throw Object.assign(new Error('no such report'), { name: 'RequestRefused' }); },
  throwText: () => { throw 'only text'; },
  exit: () => process.exit(3),
  later: () => { setTimeout(() => { throw new RangeError('too late'); }); return new Promise(() => {}); },
  unhandled: () => { Promise.reject(new RangeError('nobody')); return new Promise(() => {}); },
  memory: async () => {
    for (const all = []; ; await null) for (let n = 0; n < 10; n++) all.push(new Array(1000).fill(n));
  },
  write: () => {
    const before = readdirSync(tmpdir());
    writeFileSync(tmpdir() + '/file', '');
    return [tmpdir(), ...before.map(() => tmpdir())];
  },
  hang: () => new Promise(() => {}),
  spin: () => { for (;;) {} },
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, 'waited')),
};
export const handler = async (event, context) => actions[event.do](event, context);
`;

const CLOCK = scaledClock(1);

/** Creates a function with that handler. @param spec replaces parts of its default */
function create(spec: Partial<FunctionSpec> = {}, clock = CLOCK): LocalFunction {
  const file = join(temporaryDirectory(), 'index.mjs');
  writeFileSync(file, HANDLER);
  const whole: FunctionSpec = {
    name: 'Step',
    arn: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
    file,
    environment: { BUCKET: 'exports' },
    timeoutSeconds: 30,
    memoryMb: 256,
    ...spec,
  };
  return createLocalFunction(whole, clock, () => {});
}

async function failureOf(invocation: Promise<unknown>) {
  const { name, message } = await errorOf(TaskError, invocation);
  return { error: name, cause: JSON.parse(message) };
}

describe('a handler', () => {
  test('32: trusts the CAs that this process trusts', async () => {
    const ca = join(temporaryDirectory(), 'ca.pem');
    writeFileSync(ca, CERTIFICATE.cert);
    vi.stubEnv('NODE_EXTRA_CA_CERTS', ca);
    vi.stubEnv('NODE_OPTIONS', '--use-openssl-ca --trace-warnings');
    await using step = create();
    expect(await step.invoke({ do: 'environment' })).toMatchObject({ NODE_EXTRA_CA_CERTS: ca });
    expect(await step.invoke({ do: 'flags' })).toEqual(['--max-old-space-size=256', '--use-openssl-ca']);
  });

  test('sees the environment of its spec and nothing of this process but its CAs', async () => {
    vi.stubEnv('LOCAL_CANARY', 'must stay here');
    for (const name of ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'])
      vi.stubEnv(name, undefined);
    const environment = { BUCKET: 'exports', NODE_OPTIONS: '--max-semi-space-size=1' };
    await using step = create({ environment });
    const added = { TMPDIR: expect.any(String) };
    expect(await step.invoke({ do: 'environment' })).toEqual({ ...environment, ...added });
  });

  test('gets the id of its call and the real time left', async () => {
    await using step = create({ timeoutSeconds: 20 }, scaledClock(1000));
    const context = (await step.invoke({ do: 'context' })) as Record<string, unknown>;
    expect(context.awsRequestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(context.left).toBeLessThanOrEqual(20_000);
    expect(context.left).toBeGreaterThan(10_000);
  });
});

describe('an answer', () => {
  test('is converted to JSON and back', async () => {
    await using step = create();
    expect(await step.invoke({ do: 'nothing' })).toBeNull();
    expect(await step.invoke({ do: 'json' })).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect((await failureOf(step.invoke({ do: 'bigint' }))).error).toBe('TypeError');
  });

  test('reports the name and message of an error', async () => {
    await using step = create();
    const { error, cause } = await failureOf(step.invoke({ do: 'throw' }));
    expect(error).toBe('RequestRefused');
    expect(cause).toMatchObject({ errorType: 'RequestRefused', errorMessage: 'no such report' });
    expect(cause.trace).toEqual(expect.arrayContaining([expect.stringContaining('index.mjs')]));
    expect(await failureOf(step.invoke({ do: 'throwText' }))).toMatchObject({
      error: 'string',
      cause: { errorMessage: 'only text' },
    });
  });
});

describe('a failed call', () => {
  test.each(['hang', 'spin'])('%s: a time-out ends it and is Sandbox.Timedout', async (action) => {
    await using step = create({ timeoutSeconds: 5 });
    const { error, cause } = await failureOf(step.invoke({ do: action }));
    expect(error).toBe('Sandbox.Timedout');
    expect(cause.errorMessage).toMatch(/Task timed out after 5\.00 seconds$/);
    expect(await step.invoke({ do: 'count' })).toBe(1);
  });

  test.each([
    ['exit', 'exit status 3'],
    ['later', 'exit status 1'],
    ['unhandled', 'exit status 1'],
  ])('%s: it ends, and the next call gets a new one', async (action, message) => {
    await using step = create();
    const { error, cause } = await failureOf(step.invoke({ do: action }));
    expect(error).toBe('Runtime.ExitError');
    expect(cause.errorMessage).toContain(message);
    expect(await step.invoke({ do: 'count' })).toBe(1);
  });

  test('is Runtime.OutOfMemory if its heap is full, and this process lives on', async () => {
    await using step = create({ memoryMb: 32 });
    expect((await failureOf(step.invoke({ do: 'memory' }))).error).toBe('Runtime.OutOfMemory');
  });
});

describe('an instance', () => {
  test('handles one call at a time and is used again', async () => {
    await using step = create();
    const calls = [step.invoke({ do: 'wait', ms: 20 }), step.invoke({ do: 'count' })];
    expect(await Promise.all(calls)).toEqual(['waited', 1]);
    expect(await step.invoke({ do: 'count' })).toBe(2);
  });

  test('is started for a call that waits for long', async () => {
    await using step = create();
    const hanging = step.invoke({ do: 'hang' }).catch((error) => error);
    expect(await step.invoke({ do: 'echo' })).toEqual({ do: 'echo' });
    expect(await step.kill()).toBe(1);
    expect(await hanging).toMatchObject({ name: 'Runtime.ExitError' });
  });

  test('keeps its temporary files while it lives, apart from those of others', async () => {
    const folders: string[] = [];
    {
      const scratch = join(temporaryDirectory(), 'scratch');
      await using step = create({ scratch });
      await using second = create();
      const write = async (local: LocalFunction) => (await local.invoke({ do: 'write' })) as string[];
      folders.push(...(await write(step)), ...(await write(second)));
      expect(folders.map((folder) => folder.startsWith(scratch))).toEqual([true, false]);
      expect(await write(step)).toEqual([folders[0], folders[0]]);
    }
    expect(folders.filter(existsSync)).toEqual([]);
  });
});
