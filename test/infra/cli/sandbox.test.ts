import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { reportSettings } from '../../../infra/cli/sandbox.ts';
import { runCommand, startCommand } from '../../support/cli.ts';
import { listen } from '../../support/listen.ts';

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

  it('has late and empty days as its options say', () => {
    const day = '2026-10-02';
    const { isEmpty, ...settings } = reportSettings({ restatedDays: 3, lateHours: 1, empty: [day] });
    expect(settings).toEqual({ restated: { days: 3 }, lateHours: 1 });
    expect([
      isEmpty?.(day, 'a', 0),
      isEmpty?.('2026-10-03', day, 0),
      isEmpty?.('2026-10-03', 'a', 0),
    ]).toEqual([true, true, false]);
  });

  it.each([
    ['--empty', 'today', 'It must be a date, YYYY-MM-DD, or the id of an advertiser.'],
    ['--fault', 'nope', 'A fault begins with an endpoint'],
  ])('exits 2 for %s %s', async (flag, value, fault) => {
    const { status, stderr } = await runCommand(['sandbox', `${flag}=${value}`]);
    expect(status).toBe(2);
    expect(stderr).toContain(fault);
  });

  it('exits 2 if the port is in use', async () => {
    await using taken = await listen(() => undefined);
    const { status, stderr } = await runCommand(['sandbox', '--port', String(taken.port)]);
    expect(status).toBe(2);
    expect(stderr).toContain('--port cannot be used (EADDRINUSE)');
  });
});
