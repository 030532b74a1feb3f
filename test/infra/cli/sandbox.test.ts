import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/cli.ts';
import { listen } from '../../support/listen.ts';
import { basic, FORM, send } from '../sandbox/client.ts';

describe('sandbox', () => {
  it("prints the client's settings as one line of JSON, serves the platform, and stops at Ctrl-C", async () => {
    const { child, ended } = startCommand(['sandbox', '--json', '--fault', 'report status=500']);
    const [line] = await once(createInterface(child.stdout), 'line');
    const { base_url, client_id, client_secret, revision, advertiser_ids } = JSON.parse(line);
    expect(revision).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(advertiser_ids).toHaveLength(3);
    const token = await fetch(`${base_url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(token.status).toBe(200);
    child.kill('SIGINT');
    expect((await ended).status).toBe(0);
  });

  it('serves reports with late and with empty days', async () => {
    const flags = ['--empty', '2000-01-02', '--late-hours', '1', '--restated-days', '3'];
    const { child, ended } = startCommand(['sandbox', '--json', '--speed', '1000', ...flags]);
    const [line] = await once(createInterface(child.stdout), 'line');
    expect(await daysIn(JSON.parse(line), '2000-01-01', '2000-01-04')).toEqual(['2000-01-01', '2000-01-03']);
    expect(await daysIn(JSON.parse(line), '2100-01-01', '2100-01-04')).toEqual([]);
    child.kill('SIGINT');
    await ended;
  });

  it.each([
    ['--empty', 'today', 'It must be a date, YYYY-MM-DD, or the id of an advertiser.'],
    ['--late-hours', '-1', 'It must be a whole number up to 9999.'],
    ['--restated-days', '1.5', 'It must be a whole number up to 9999.'],
  ])('exits 2 for %s %s', async (flag, value, fault) => {
    const { status, stderr } = await runCommand(['sandbox', `${flag}=${value}`]);
    expect(status).toBe(2);
    expect(stderr).toContain(fault);
  });

  it('exits 2 if a fault cannot be parsed', async () => {
    const { status, stderr } = await runCommand(['sandbox', '--fault', 'nope']);
    expect(status).toBe(2);
    expect(stderr).toContain('A fault begins with an endpoint');
  });

  it('exits 2 if the port is in use', async () => {
    await using taken = await listen(() => undefined);
    const { status, stderr } = await runCommand(['sandbox', '--port', String(taken.port)]);
    expect(status).toBe(2);
    expect(stderr).toContain('--port is in use');
  });
});

type Settings = Record<'base_url' | 'client_id' | 'client_secret' | 'revision', string> & {
  advertiser_ids: string[];
};

/** Downloads a report of one metric per day and returns its dates. */
async function daysIn(
  { base_url, client_id, client_secret, revision, advertiser_ids }: Settings,
  start_date: string,
  end_date: string,
): Promise<string[]> {
  const token = await send('POST', `${base_url}/oauth2/token`, {
    headers: { authorization: basic(client_id, client_secret), ...FORM },
    body: 'grant_type=client_credentials',
  });
  const headers = {
    ...{ authorization: `Bearer ${token.json.access_token}`, 'x-service-revision': revision },
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ start_date, end_date, advertiser_ids, metrics: ['spend'] });
  const { id } = (await send('POST', `${base_url}/reports`, { headers, body })).json;
  // 10 s are 10 ms of this sandbox (contract 4.4).
  let url = '';
  const poll = async () => {
    const { json } = await send('GET', `${base_url}/reports/${id}`, { headers });
    url = json.download_url ?? '';
    return json.status;
  };
  await expect.poll(poll, { interval: 50 }).toBe('READY');
  const rows: { date: string }[] = JSON.parse((await send('GET', url)).text);
  return rows.map(({ date }) => date);
}
