import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  SFNClient,
} from '@aws-sdk/client-sfn';
import { describe, expect, test } from 'vitest';
import { startTaskAnswers } from '../../../infra/local/task-answers.ts';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';
import { TOKEN } from '../../../infra/local/task-token.ts';
import { eventsOf, machine, TASK } from './machine.ts';

async function open() {
  const server = await startTaskAnswers();
  const client = new SFNClient({
    endpoint: server.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  const succeed = (taskToken: string, output = '{"a":1}') =>
    client.send(new SendTaskSuccessCommand({ taskToken, output }));
  const fail = (taskToken: string, error = 'Refused', cause = 'no') =>
    client.send(new SendTaskFailureCommand({ taskToken, error, cause }));
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { server, client, succeed, fail, [Symbol.asyncDispose]: close };
}

describe('an answer', () => {
  test('is what the task comes to: its output, or Error and Cause', async () => {
    await using local = await open();
    const [good, bad] = [local.server.wait('good'), local.server.wait('bad')];
    await local.succeed('good');
    await local.fail('bad');
    expect(await good.answer).toEqual({ a: 1 });
    await expect(bad.answer).rejects.toMatchObject({ name: 'Refused', message: 'no' });
  });

  test('is taken once, and not after the task has ended', async () => {
    await using local = await open();
    local.server.wait('once');
    await local.succeed('once');
    await expect(local.fail('once')).rejects.toMatchObject({ name: 'TaskTimedOut' });
    local.server.wait('ended').close();
    await expect(local.succeed('ended')).rejects.toMatchObject({ name: 'TaskTimedOut' });
    await expect(local.succeed('unknown')).rejects.toMatchObject({ name: 'InvalidToken' });
  });

  test.each([
    ['an Error of 257 characters', 'ValidationException', { error: 'x'.repeat(257) }],
    ['a Cause of 32,769 characters', 'ValidationException', { cause: 'x'.repeat(32_769) }],
    ['an output of over 256 KB', 'ValidationException', { output: JSON.stringify('x'.repeat(262_143)) }],
    ['an output that is no JSON', 'InvalidOutput', { output: '{' }],
  ])('is refused with %s, and may then be given as it should be', async (_, name, {
    error,
    cause,
    output,
  }: Record<string, string>) => {
    await using local = await open();
    const { answer } = local.server.wait('t');
    const refused = output === undefined ? local.fail('t', error, cause) : local.succeed('t', output);
    await expect(refused).rejects.toMatchObject({ name });
    await local.succeed('t');
    expect(await answer).toEqual({ a: 1 });
  });

  test('is all that may be asked for', async () => {
    await using local = await open();
    local.server.wait('t');
    const beating = local.client.send(new SendTaskHeartbeatCommand({ taskToken: 't' }));
    await expect(beating).rejects.toMatchObject({ name: 'UnknownOperationException' });
  });
});

describe('a task token', () => {
  const Parameters = { Payload: { state: { 'item.$': '$.item', 'token.$': '$$.Task.Token' } } };
  const WAITING = {
    ...TASK,
    TimeoutSeconds: 1,
    Parameters,
    Retry: [{ ErrorEquals: ['States.Timeout', 'Refused'], IntervalSeconds: 1, MaxAttempts: 2 }],
  };

  test('is another one at each try, after a time-out too, and stands in no event', async () => {
    const seen: string[] = [];
    await using local = await machine({ Do: { ...WAITING, End: true } }, async (_, input, token) => {
      expect(input).toEqual({ Payload: { state: { item: 7, token } } });
      seen.push(token);
      if (seen.length === 1) return new Promise(() => {});
      if (seen.length === 2) throw new TaskError(functionFailure('Refused', 'not yet'));
      return 'done';
    });
    const execution = local.start('daily', { item: 7 });
    expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: 'done' });
    expect(new Set(seen).size).toBe(3);
    for (const token of seen) expect(token.startsWith(TOKEN)).toBe(true);
    expect(JSON.stringify(await eventsOf(execution.events))).not.toContain(TOKEN);
  });
});
