import { writeFile } from 'node:fs/promises';
import { describe, expect, test, vi } from 'vitest';
import { EXAMPLE_REVISION, type SandboxOptions } from '../../../../../infra/lab/sandbox/sandbox-options.ts';
import { createAccount } from '../../../../../infra/operate/cli/accounts/account.ts';
import { type Check, diagnose, type Needs } from '../../../../../infra/operate/cli/accounts/diagnose.ts';
import { runCommand } from '../../../../support/cli.ts';
import { heldLease, type Platform, startDeployedAccount, startPlatform } from '../support.ts';

const NEEDS: Needs = {
  revisions: [EXAMPLE_REVISION],
  scopes: ['reporting:read'],
  advertiserIds: [],
  refreshParameters: {},
};

interface Examination {
  readonly needs?: Partial<Needs>;
  /** Instead of the sandbox's own credential. */
  readonly credential?: unknown;
  readonly now?: Date;
}

/** Diagnoses a new sandbox. */
async function examine(options: SandboxOptions, { needs = {}, credential, now }: Examination = {}) {
  const platform = await startPlatform(options);
  if (credential !== undefined) await writeFile(platform.file, JSON.stringify(credential));
  const checks = await diagnosePlatform(platform.sandbox.baseUrl, platform.file, { ...NEEDS, ...needs }, now);
  return { ...platform, checks };
}

async function diagnosePlatform(baseUrl: string, credential: string, needs = NEEDS, now?: Date) {
  await using account = createAccount('acme', { local: true, baseUrl, credential });
  return await Array.fromAsync(diagnose(account, needs, now));
}

/** Such as `secret ok`. */
function summarize(checks: readonly Check[]): string[] {
  return checks.map(({ check, status }) => `${check} ${status}`);
}

test('finds everything that an export needs, and creates no report', async () => {
  const { checks, sandbox } = await examine({});
  expect(summarize(checks)).toEqual(['secret ok', 'token ok', 'scopes ok', 'revision ok']);
  expect(sandbox.reports()).toEqual([]);
  expect(sandbox.journal.map(({ method, endpoint }) => `${method} ${endpoint}`)).toEqual([
    ...['POST token', 'GET report'],
  ]);
});

describe('the secret', () => {
  test('is faulty and not quoted', async () => {
    const credential = { client_id: 'canary\n', client_secret: 'canary' };
    const { checks, sandbox } = await examine({}, { credential });
    expect(checks).toMatchObject([{ check: 'secret', status: 'fault', todo: expect.any(String) }]);
    expect(checks[0]?.description).toContain('client_id contains a line break');
    expect(JSON.stringify(checks)).not.toContain('canary');
    expect(sandbox.journal).toEqual([]);
  });

  test('7.3: that begins or ends with a space causes a warning, and is a fault if the client is refused', async () => {
    const { checks } = await examine({}, { credential: { client_id: 'id', client_secret: 'canary ' } });
    expect(summarize(checks)).toEqual(['secret ok', 'secret unknown', 'token fault']);
    expect(checks[1]?.description).toContain('client_secret begins or ends with a space');
    expect(checks[2]?.description).toContain('401 (invalid_client');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  test('5.7, 9.6: with an API key, the days left are named and the revision is checked', async () => {
    const now = new Date('2026-12-22T00:00:00Z');
    const credential = { api_key: 'canary-key' };
    const options = { credentials: [{ apiKey: 'canary-key' }], now: () => now.getTime() };
    const { checks } = await examine(options, { credential, now });
    expect(summarize(checks)).toEqual(['secret ok', 'token unknown', 'revision ok']);
    expect(checks[1]?.description).toContain('10 days are left');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });
});

test('5.2: a dead refresh token asks for a new login', async () => {
  const { file, sandbox, readStored } = await startPlatform();
  await writeFile(file, JSON.stringify({ ...(await readStored()), refresh_token: 'canary-dead' }));
  const checks = await diagnosePlatform(sandbox.baseUrl, file);
  expect(checks[1]).toMatchObject({ status: 'fault', todo: expect.stringContaining('login --account acme') });
  expect(JSON.stringify(checks)).not.toContain('canary');
});

test('40: an execution that renews the token is left alone', async () => {
  const login = { client_id: 'client', client_secret: 'canary', refresh_token: 'canary' };
  await startDeployedAccount(JSON.stringify(login), heldLease());
  const { stdout } = await runCommand(['doctor', '--account', 'acme', '--json']);
  expect(JSON.parse(stdout).checks[1]).toEqual({
    account: 'acme',
    check: 'token',
    status: 'unknown',
    description: 'Another call is renewing the token of account acme: it has the lease leases/acme.json.',
    todo: 'Try again in a minute.',
  });
});

test.each([
  ['reporting:read', ['campaigns:read'], ['reporting:read']],
  ['campaigns:read', ['reporting:read'], ['reporting:read', 'campaigns:read']],
])('5.3: the scopes are a fault without %s, which an export needs', async (missing, scopes, needed) => {
  const { checks } = await examine({ credentials: [{ scopes }] }, { needs: { scopes: needed } });
  expect(checks[2]).toMatchObject({
    check: 'scopes',
    status: 'fault',
    description: expect.stringContaining(`need ${missing}`),
  });
});

test.each<[string, SandboxOptions, Partial<Needs>, string[]]>([
  ['2.1: names no scopes', { faults: ['token omit=scope'] }, {}, ['scopes unknown', 'revision ok']],
  ['9.2, 9.7: lacks the revision', {}, { revisions: ['2026-09-02'] }, ['scopes ok', 'revision fault']],
  ['7.2: fails', { faults: ['report status=500'] }, {}, ['scopes ok', 'revision unknown']],
])('a platform that %s', async (_, options, needs, expected) => {
  const { checks } = await examine(options, { needs });
  expect(summarize(checks).slice(2)).toEqual(expected);
});

describe('the command', () => {
  test.each([
    ['credentials', 'Could not load credentials from any providers', 'Sign in to AWS', 'AWS_ACCESS_KEY_ID'],
    ['a Region', 'Region is missing', 'Set AWS_REGION, or give --region.', 'AWS_REGION'],
  ])('says in words that there are not %s', async (_, problem, todo, variable) => {
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_CONFIG_FILE', 'none');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', 'none');
    await startDeployedAccount('{}');
    vi.stubEnv(variable, undefined);
    const { stdout } = await runCommand(['doctor', '--account', 'acme', '--json']);
    expect(JSON.parse(stdout).checks[0]).toMatchObject({
      check: 'secret',
      description: expect.stringContaining(problem),
      todo: expect.stringContaining(todo),
    });
    expect(stdout).not.toContain('(Error)');
  });

  const argsFor = ({ sandbox, file }: Platform, revision: string) => [
    ...['doctor', '--local', '--base-url', sandbox.baseUrl, '--credential', file, '--revision', revision],
  ];

  test('prints a line for each check, and exits 0', async () => {
    const { status, stdout } = await runCommand(argsFor(await startPlatform(), EXAMPLE_REVISION));
    expect(status).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([...['ok', 'ok', 'ok', 'ok', '']]);
    expect(stdout).not.toMatch(/sbx_(at|cs)/);
  });

  test('prints one document with --json, and exits 1 after a fault', async () => {
    const args = argsFor(await startPlatform(), '2000-01-01');
    const { status, stdout } = await runCommand([...args, '--account', 'acme', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'fault',
      checks: expect.arrayContaining([expect.objectContaining({ account: 'acme', check: 'revision' })]),
    });
  });
});
