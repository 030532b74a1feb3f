import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { MAIN, runCommand, startCommand } from '../../../support/cli.ts';
import { listen } from '../../../support/listen.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { writeTemporary } from './support.ts';

describe('sandbox', () => {
  it("prints the client's settings as one line of JSON, serves the platform, and stops at Ctrl-C", async () => {
    const { child, ended } = startCommand(['sandbox', '--json', '--fault', 'report status=500']);
    const [line] = await once(createInterface(child.stdout), 'line');
    const { base_url, client_id, client_secret, revision, advertiser_ids } = JSON.parse(line);
    expect(revision).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    // The export monthly-totals in cdk.json names it.
    expect(advertiser_ids).toContain('0b9d4c2a-86f1-4e57-a3c8-1d2e5f7a9b02');
    const token = await fetch(`${base_url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    expect(token.status).toBe(200);
    child.kill('SIGINT');
    expect((await ended).status).toBe(0);
  });

  it('keeps its client in --credential, for the next sandbox and the command that it prints', async () => {
    const file = join(temporaryDirectory(), 'credential.json');
    const serve = async () => {
      const { child, ended } = startCommand(['sandbox', '--credential', file]);
      await once(child.stdout, 'data');
      child.kill('SIGINT');
      return (await ended).stdout;
    };
    const first = await serve();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { client_id, client_secret } = JSON.parse(readFileSync(file, 'utf8'));
    for (const stdout of [first, await serve()]) {
      expect(stdout).toMatch(new RegExp(`^client_id +${client_id}\nclient_secret +${client_secret}$`, 'm'));
      expect(stdout).toMatch(
        /^To export from it: npm run export -- run daily-campaigns --account acme --local --base-url \S+ --credential \S+ --revision \S+$/m,
      );
      expect(stdout).toContain(` --credential ${file} `);
    }
  });

  it.each([
    '{"client_id":"a"}',
    '{"api_key":"k"}',
    'no JSON',
  ])('exits 2 if --credential holds %s', async (content) => {
    const { file } = await writeTemporary('credential.json', content);
    const { status, stderr } = await runCommand(['sandbox', '--credential', file]);
    const fault = `error: --credential ${file} has no client_id and client_secret; name another file\n`;
    expect({ status, stderr }).toEqual({ status: 2, stderr: fault });
  });

  it('ends when npm ends, which passes SIGTERM to its shell only', async () => {
    const command = `"${process.execPath}" "${MAIN}" sandbox; exit`;
    const env = { ...process.env, npm_lifecycle_event: 'export' };
    const shell = spawn('sh', ['-c', command], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(shell.stdout, 'data');
    shell.kill('SIGTERM');
    // Both have this output.
    await once(shell, 'close');
  });

  it('exits 2 for a fault that it does not know', async () => {
    const { status, stderr } = await runCommand(['sandbox', '--fault=nope']);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining('the first word must be one of token, '),
    });
  });

  it('exits 2 if the port is in use', async () => {
    await using taken = await listen(() => undefined);
    const { port } = taken;
    const { status, stderr } = await runCommand(['sandbox', '--port', String(port)]);
    expect(status).toBe(2);
    expect(stderr).toContain(`--port ${port} is used by another program (EADDRINUSE): name another one`);
  });
});
