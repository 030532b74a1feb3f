import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createObjectStore } from '../../../functions/aws/objects.ts';
import { createSecrets } from '../../../functions/aws/secrets.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import { listen } from '../../support/listen.ts';

/** Resets the second request on a connection, as AWS does after a function was frozen. */
async function startResetting(answer: (response: ServerResponse) => unknown) {
  const before = new Set<unknown>();
  const server = await listen((_, response) => {
    const { socket } = response;
    if (before.has(socket)) socket?.resetAndDestroy();
    else answer(response);
    before.add(socket);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ S3: server.url, SECRETS_MANAGER: server.url }));
  return before;
}

it.each<[string, (response: ServerResponse) => unknown, () => (call: number) => Promise<unknown>]>([
  [
    'reads a secret',
    (response) => response.end(JSON.stringify({ SecretString: '{}', VersionId: 'v1' })),
    () => {
      const { read } = createSecrets();
      return () => read('exports/acme/token');
    },
  ],
  [
    'writes an object',
    (response) => response.end(),
    () => {
      const { putJson } = createObjectStore({ BUCKET: 'exports-test', BUCKET_OWNER: '000000000000' });
      return (call) => putJson('exports/_failure.json', { call });
    },
  ],
])('%s although a kept connection is dead, as after a freeze', async (_, answer, create) => {
  const connections = await startResetting(answer);
  const call = create();
  for (const at of [1, 2, 3]) await call(at);
  expect(connections.size).toBe(3);
});
