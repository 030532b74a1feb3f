import { writeFile } from 'node:fs/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { openTarget } from '../../../infra/cli/credential/target.ts';
import { checkBucket } from '../../../infra/cli/doctor/bucket.ts';
import type { Check, Needs } from '../../../infra/cli/doctor/check.ts';
import { diagnose } from '../../../infra/cli/doctor.ts';
import {
  EXAMPLE_ADVERTISERS,
  EXAMPLE_REVISION,
  type SandboxOptions,
} from '../../../infra/local/sandbox/settings.ts';
import { json, listen } from '../../support/listen.ts';
import { startCommand } from './command.ts';
import { consent, createPlatformAccess, get, logIn } from './support.ts';

const NEEDS: Needs = {
  revisions: [EXAMPLE_REVISION],
  scopes: ['reporting:read'],
  advertiserIds: EXAMPLE_ADVERTISERS.slice(0, 1),
  refreshParameters: {},
};

/** What is found with a credential that is, or differs from, the sandbox's first. */
async function examine(
  options: SandboxOptions,
  { needs = {}, credential, now }: { needs?: Partial<Needs>; credential?: unknown; now?: Date } = {},
) {
  const platform = await createPlatformAccess(options);
  if (credential !== undefined) await writeFile(platform.file, JSON.stringify(credential));
  const checks = await diagnosisOf(platform.sandbox.baseUrl, platform.file, { ...NEEDS, ...needs }, now);
  return { ...platform, checks };
}

async function diagnosisOf(baseUrl: string, credential: string, needs: Needs, now?: Date): Promise<Check[]> {
  await using target = await openTarget('acme', { local: true, baseUrl, credential });
  return await Array.fromAsync(diagnose(target, needs, now));
}

/** `secret ok`, one for each line. */
function told(checks: readonly Check[]): string[] {
  return checks.map(({ check, status }) => `${check} ${status}`);
}

test('all that an export needs is found, and no report was created', async () => {
  const { checks, sandbox } = await examine({});
  expect(told(checks)).toEqual(['secret ok', 'token ok', 'scopes ok', 'revision ok', 'advertisers ok']);
  expect(sandbox.reports()).toEqual([]);
  expect(sandbox.journal.map(({ method, endpoint }) => `${method} ${endpoint}`)).toEqual([
    'POST token',
    'GET report',
    'GET list',
    'GET list',
  ]);
});

describe('the secret', () => {
  test.each([
    [{ client_id: 'canary-id' }, 'client_secret is missing'],
    [{ client_id: 'canary\n', client_secret: 'canary' }, 'client_id contains a line break'],
    ['canary', 'is not a JSON object'],
  ])('is faulty, and is not quoted', async (credential, found) => {
    const { checks, sandbox } = await examine({}, { credential });
    expect(checks).toMatchObject([{ check: 'secret', status: 'fault', todo: expect.any(String) }]);
    expect(checks[0]?.found).toContain(found);
    expect(JSON.stringify(checks)).not.toContain('canary');
    expect(sandbox.journal).toEqual([]);
  });

  test('5.7, 9.6: an API key is used for the revision, and counted down', async () => {
    const now = new Date('2026-12-22T00:00:00Z');
    const credential = { api_key: 'canary-key' };
    const options = { credentials: [{ apiKey: 'canary-key' }], now: () => now.getTime() };
    const { checks } = await examine(options, { credential, now });
    expect(told(checks)).toEqual(['secret ok', 'token unknown', 'revision ok', 'advertisers unknown']);
    expect(checks[1]?.found).toContain('in 10 days');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  test('9.6: an API key is a fault from 2027-01-01 on, and is not sent', async () => {
    const now = new Date('2027-01-01T00:00:00Z');
    const { checks, sandbox } = await examine({}, { credential: { api_key: 'key' }, now });
    expect(told(checks)).toEqual(['secret ok', 'token fault']);
    expect(sandbox.journal).toEqual([]);
  });
});

describe('the token', () => {
  test('7.3: a client that is refused', async () => {
    const credential = { client_id: 'nobody', client_secret: 'canary' };
    const { checks } = await examine({}, { credential });
    expect(told(checks)).toEqual(['secret ok', 'token fault']);
    expect(checks[1]?.found).toContain('401 invalid_client');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  test('a platform that does not answer', async () => {
    const { file } = await createPlatformAccess();
    const checks = await diagnosisOf('http://127.0.0.1:9', file, NEEDS);
    expect(checks[1]).toMatchObject({ check: 'token', status: 'fault' });
  });

  test('5.2: a dead login says to log in again', async () => {
    const { file, sandbox, stored } = await createPlatformAccess();
    await writeFile(file, JSON.stringify({ ...(await stored()), refresh_token: 'canary-dead' }));
    const checks = await diagnosisOf(sandbox.baseUrl, file, NEEDS);
    expect(checks[1]).toMatchObject({
      status: 'fault',
      todo: expect.stringContaining('login --account acme'),
    });
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  test('5.2: a login that is rotated is stored, so that it can be used again', async () => {
    const platform = await createPlatformAccess({ rotateRefreshTokens: true });
    await logIn(platform, async (url) => get((await consent(url)).href));
    const { refresh_token: before } = await platform.stored();
    for (let time = 1; time <= 2; time += 1) {
      const checks = await diagnosisOf(platform.sandbox.baseUrl, platform.file, NEEDS);
      expect(told(checks).slice(0, 3)).toEqual(['secret ok', 'token ok', 'scopes ok']);
    }
    expect((await platform.stored()).refresh_token).not.toBe(before);
  });
});

test('5.2: a login that an export rotates in that very moment is read again', async () => {
  const { file, sandbox, stored } = await createPlatformAccess();
  await logIn({ sandbox, file }, async (url) => get((await consent(url)).href));
  const rotatedAway = JSON.stringify({ ...(await stored()), refresh_token: 'rotated-away' });
  const account = { local: true, baseUrl: sandbox.baseUrl, credential: file } as const;
  await using target = await openTarget('acme', account);
  const texts = [rotatedAway];
  const read = async () => ({
    ...(await target.store.read()),
    ...(texts.length > 0 && { text: texts.pop() ?? '' }),
  });
  const checks = await Array.fromAsync(diagnose({ ...target, store: { ...target.store, read } }, NEEDS));
  expect(told(checks).slice(0, 2)).toEqual(['secret ok', 'token ok']);
});

describe('what the token may do', () => {
  test('5.3: without reporting:read', async () => {
    const { checks } = await examine({ credentials: [{ scopes: ['campaigns:read'] }] });
    expect(checks[2]).toMatchObject({
      check: 'scopes',
      status: 'fault',
      found: expect.stringContaining('reporting:read'),
    });
  });

  test('5.3: without the scope of a list that an export is of', async () => {
    const { checks } = await examine(
      { credentials: [{ scopes: ['reporting:read'] }] },
      { needs: { scopes: ['reporting:read', 'campaigns:read'] } },
    );
    expect(checks[2]).toMatchObject({
      status: 'fault',
      found: expect.stringContaining('need campaigns:read'),
    });
  });

  test('5.2: a refresh sends the parameters that the config adds', async () => {
    const platform = await createPlatformAccess();
    await logIn(platform, async (url) => get((await consent(url)).href));
    const needs = { ...NEEDS, refreshParameters: { audience: 'reports' } };
    await diagnosisOf(platform.sandbox.baseUrl, platform.file, needs);
    const bodies = platform.sandbox.journal.map(({ body }) => body);
    expect(bodies.filter((body) => body.includes('refresh_token&'))).toEqual([
      expect.stringContaining('audience=reports'),
    ]);
  });

  test('2.1: a platform that does not name the scopes', async () => {
    const { checks } = await examine({ faults: ['token omit=scope'] });
    expect(told(checks)).toEqual([
      'secret ok',
      'token ok',
      'scopes unknown',
      'revision ok',
      'advertisers ok',
    ]);
  });

  test('9.2, 9.7: a revision that is not published is named', async () => {
    const { checks } = await examine({}, { needs: { revisions: ['2026-09-02'] } });
    expect(checks[3]).toMatchObject({
      check: 'revision',
      status: 'fault',
      found: expect.stringContaining('X-Service-Revision 2026-09-02'),
    });
  });

  test('7.2: a platform that fails tells nothing of the revision', async () => {
    const { checks } = await examine({ faults: ['report status=500'] });
    expect(told(checks).slice(3)).toEqual(['revision unknown']);
  });

  test('5.5: an advertiser that is not listed is named', async () => {
    const ids = EXAMPLE_ADVERTISERS.slice(0, 1);
    const { checks } = await examine(
      { credentials: [{ advertisers: { kind: 'specific', ids } }] },
      { needs: { advertiserIds: EXAMPLE_ADVERTISERS.slice(0, 2) } },
    );
    expect(told(checks).slice(4)).toEqual(['advertisers ok', 'advertisers fault']);
    expect(checks[5]?.found).toContain(EXAMPLE_ADVERTISERS[1]);
  });

  test('5.3: without advertisers:read nothing is said of them, and they are not asked for', async () => {
    const { checks, sandbox } = await examine({ credentials: [{ scopes: ['reporting:read'] }] });
    expect(checks[4]).toMatchObject({ check: 'advertisers', status: 'unknown' });
    expect(sandbox.journal.filter(({ endpoint }) => endpoint === 'list')).toEqual([]);
  });

  test('4.6: a list in a wrapper of its own tells nothing, and is no fault', async () => {
    const { checks } = await examine({ faults: ['list body="<html></html>"'] });
    expect(told(checks).slice(4)).toEqual(['advertisers unknown']);
  });
});

describe('the bucket', () => {
  test.each([
    [200, 'ok'],
    [403, 'fault'],
    [404, 'fault'],
    [500, 'unknown'],
  ])('%i is %s', async (status, expected) => {
    await using s3 = await listen((_, response) => json(response, status, {}));
    const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
    const client = new S3Client({ endpoint: s3.url, region: 'eu-west-1', credentials, maxAttempts: 1 });
    expect(await checkBucket(client, 'exports', '123456789012')).toMatchObject({ status: expected });
    expect(s3.requests).toMatchObject([
      { method: 'HEAD', headers: { 'x-amz-expected-bucket-owner': '123456789012' } },
    ]);
    client.destroy();
  });
});

describe('the command', () => {
  const args = (
    { sandbox, file }: Awaited<ReturnType<typeof createPlatformAccess>>,
    revision = EXAMPLE_REVISION,
  ) => [
    ...['doctor', '--local', '--base-url', sandbox.baseUrl, '--credential', file, '--revision', revision],
  ];

  test('prints a line for each check, and exits 0', async () => {
    const { status, stdout } = await startCommand(args(await createPlatformAccess())).ended;
    expect(status).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
      ...['ok', 'ok', 'ok', 'ok', 'ok', 'unknown', ''],
    ]);
    expect(stdout).not.toMatch(/sbx_(at|cs)/);
  });

  test('--json prints one document, and a fault exits 1', async () => {
    const platform = await createPlatformAccess();
    const command = startCommand([...args(platform, '2000-01-01'), '--account', 'acme', '--json']);
    const { status, stdout } = await command.ended;
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'fault',
      checks: expect.arrayContaining([expect.objectContaining({ account: 'acme', check: 'revision' })]),
    });
  });

  test('exits 2 and names every fault of its options', async () => {
    const { status, stderr } = await startCommand(['doctor', '--account', 'nobody', '--revision', 'x']).ended;
    expect(status).toBe(2);
    for (const fault of ['no account nobody', '--revision can only']) expect(stderr).toContain(fault);
  });
});
