import { describe, expect, test } from 'vitest';
import { send } from './client.ts';
import { HOSTS } from './hosts.ts';

describe.each(Object.entries(HOSTS))('%s', (_host, startClient) => {
  test('an invalid limit or offset is 422 (contract 8)', async () => {
    const { call } = await startClient();
    const limits = ['limit=5001', 'limit=0', 'limit=-1', 'limit=many'];
    for (const query of [...limits, 'offset=-1', 'offset=1.5']) {
      const { status } = await call('GET', `/campaigns?${query}`);
      expect({ query, status }).toEqual({ query, status: 422 });
    }
  });

  test('the campaigns of a report are in the list, with the same names', async () => {
    const { call, ready } = await startClient();
    const { url } = await ready({ start_date: '2026-10-31', dimensions: ['campaign_id', 'campaign_name'] });
    const rows: Record<string, string>[] = JSON.parse((await send('GET', url)).text);
    const { data = [] } = (await call('GET', '/campaigns?limit=100')).json;
    const names = new Map(data.map(({ id, name }: { id: string; name: string }) => [id, name]));
    expect(rows.length).toBeGreaterThan(10);
    for (const { campaign_id = '', campaign_name } of rows)
      expect(names.get(campaign_id)).toBe(campaign_name);
  });
});
