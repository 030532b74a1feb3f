import { expect, it } from 'vitest';
import { TaskError } from '../../infra/local/task-error.ts';
import { startRuntimeApi } from './runtime-api.ts';

const ARN = 'arn:aws:lambda:eu-west-1:123456789012:function:step';

async function startClient() {
  const api = await startRuntimeApi({ arn: ARN, deadline: () => 1_000 });
  const base = `http://${api.address}/2018-06-01/runtime`;
  const post = (path: string, body: unknown) =>
    fetch(`${base}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { api, post, next: () => fetch(`${base}/invocation/next`) };
}

it('hands out an invocation with its headers and returns the response', async () => {
  const { api, post, next } = await startClient();
  await using _ = api;
  const waiting = next();
  const output = api.invoke({ state: 1 });
  const invocation = await waiting;
  expect(await invocation.json()).toEqual({ state: 1 });
  expect(Object.fromEntries(invocation.headers)).toMatchObject({
    'lambda-runtime-deadline-ms': '1000',
    'lambda-runtime-invoked-function-arn': ARN,
  });
  await post(`invocation/${invocation.headers.get('lambda-runtime-aws-request-id')}/response`, {
    done: true,
  });
  expect(await output).toEqual({ done: true });
});

it('fails an invocation with the errorType that the client reports', async () => {
  const { api, post, next } = await startClient();
  await using _ = api;
  const output = api.invoke({}).catch((error: unknown) => error);
  const id = (await next()).headers.get('lambda-runtime-aws-request-id');
  const report = { errorType: 'InvalidInput', errorMessage: 'no end_date', trace: [] };
  await post(`invocation/${id}/error`, report);
  expect(await output).toEqual(new TaskError({ error: 'InvalidInput', cause: JSON.stringify(report) }));
});

it('fails every invocation once the function could not be loaded', async () => {
  const { api, post } = await startClient();
  await using _ = api;
  const waiting = api.invoke({}).catch(({ name }) => name);
  await post('init/error', { errorType: 'Runtime.ImportModuleError' });
  expect(await waiting).toBe('Runtime.ImportModuleError');
  await expect(api.invoke({})).rejects.toThrow('Runtime.ImportModuleError');
});
