import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createObjectStore } from '../../../functions/aws/objects.ts';
import { createSecrets } from '../../../functions/aws/secrets.ts';
import { setEnvironment } from '../../support/lambda.ts';

/** Resets the second request on a connection, as AWS does after a function was frozen. */
async function startResetting(answer: (response: ServerResponse) => unknown) {
  const before = new Set<unknown>();
  const server = createServer((request, response) => {
    if (before.has(request.socket)) request.socket.resetAndDestroy();
    else request.resume().once('end', () => answer(response));
    before.add(request.socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  setEnvironment({
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' },
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  return before;
}

const json = (value: object) => (response: ServerResponse) => response.end(JSON.stringify(value));
const bucket = { BUCKET: 'exports-test', BUCKET_OWNER: '000000000000' };

it.each<[string, (response: ServerResponse) => unknown, () => (call: number) => Promise<unknown>]>([
  [
    'reads a secret',
    json({ SecretString: '{}', VersionId: 'v1' }),
    () => {
      const { read } = createSecrets();
      return () => read('exports/acme/token');
    },
  ],
  [
    'writes an object',
    (response) => response.end(),
    () => {
      const { putJson } = createObjectStore(bucket);
      return (call) => putJson('exports/_failure.json', { call });
    },
  ],
])('%s on a new connection each time, because a kept one may be dead after a freeze', async (_, answer, create) => {
  const connections = await startResetting(answer);
  const call = create();
  for (const at of [1, 2, 3]) await call(at);
  expect(connections.size).toBe(3);
});
