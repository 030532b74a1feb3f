import { expect, test } from 'vitest';
import { startClient } from './client.ts';

test('an invalid limit or offset is 422 (contract 8)', async () => {
  const { call } = await startClient();
  const limits = ['limit=5001', 'limit=0', 'limit=-1', 'limit=many'];
  for (const query of [...limits, 'offset=-1', 'offset=1.5'])
    expect([query, (await call('GET', `/campaigns?${query}`)).status]).toEqual([query, 422]);
});
