import { expect, it } from 'vitest';
import { send } from '../infra/lab/sandbox/client.ts';
import { startDeployedClient } from '../infra/lab/sandbox/hosts.ts';

// Against versitygw: the local S3 checks no signature.

it('a download_url of the deployed sandbox is signed for its file, and for GET', async () => {
  const { ready, s3 } = await startDeployedClient(new Date(Date.now() - 60_000).toISOString());
  const { url } = await ready();
  expect((await send('GET', url)).status).toBe(200);
  for (const [method, changed] of [
    ['GET', url.replace('X-Amz-Expires=3600', 'X-Amz-Expires=86400')],
    ['GET', url.replace(/\?.*/, '')],
    ['PUT', url],
  ] as const)
    expect({ method, status: (await send(method, changed)).status }).toEqual({ method, status: 403 });
  expect(s3.journal.length).toBeGreaterThan(0);
});
