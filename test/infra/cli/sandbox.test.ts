import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCommand, startCommand } from '../../support/cli.ts';
import { listen } from '../../support/listen.ts';

describe('sandbox', () => {
  it('prints what a client needs as one line of JSON, serves it, and ends at Ctrl-C', async () => {
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

  it('exits 2 where a fault cannot be read, or the port is taken', async () => {
    const unreadable = await runCommand(['sandbox', '--fault', 'nope']);
    expect(unreadable.status).toBe(2);
    expect(unreadable.stderr).toContain('A fault begins with an endpoint');
    const taken = await listen(() => undefined);
    onTestFinished(() => taken[Symbol.asyncDispose]());
    expect(await runCommand(['sandbox', '--port', String(taken.port)])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('in use'),
    });
  });
});
