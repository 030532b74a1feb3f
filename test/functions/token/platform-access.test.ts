import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NoAnswer } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { createConnection, createPlatformAccess } from '../../../functions/token/platform-access.ts';
import { createMemorySecret } from '../../../infra/local/secret.ts';
import { startSecretsManager } from '../../../infra/local/secrets-manager.ts';
import { awsEnvironment, SETTINGS, setEnvironment } from '../../support/lambda.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf } from '../../support/platform.ts';

const RECORD = { id: 'r1', status: 'CREATED' };

async function startPlatform() {
  const server = await listen((_, response) => json(response, 200, RECORD));
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, settings: { ...SETTINGS, PLATFORM_BASE_URL: `${server.url}/v1` } };
}

describe('the platform of the settings', () => {
  it('is called at its base URL with the pinned revision, or with the request’s own (contract 9.4)', async () => {
    const { server, settings } = await startPlatform();
    const { platform } = createPlatformAccess({ ...settings, ALLOW_LOOPBACK: 'true' });
    await getReport(platform(undefined), bearer, 'r1');
    await getReport(platform('2026-05-01'), bearer, 'r1');
    expect(server.requests.map(({ path, headers }) => [path, headers['x-service-revision']])).toEqual([
      ['/v1/reports/r1', '2026-09-01'],
      ['/v1/reports/r1', '2026-05-01'],
    ]);
  });

  it('21: is not called at a loopback address', async () => {
    const { server, settings } = await startPlatform();
    const { platform } = createPlatformAccess(settings);
    const error = await errorOf(NoAnswer, getReport(platform(undefined), bearer, 'r1'));
    expect([error.code, error.sent, server.requests]).toEqual(['DownloadRefused', false, []]);
  });

  it('10: opens a connection per call, because a kept one may be dead after a freeze', async () => {
    const connections = new Set<unknown>();
    const server = createServer(async (request, response) => {
      connections.add(request.socket);
      await text(request);
      json(response, 200, RECORD, { connection: 'keep-alive' });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const base = { ...SETTINGS, PLATFORM_BASE_URL: `http://127.0.0.1:${port}` };
    const { platform } = createPlatformAccess({ ...base, ALLOW_LOOPBACK: 'true' });
    for (let calls = 0; calls < 3; calls += 1) await getReport(platform(undefined), bearer, 'r1');
    expect(connections.size).toBe(3);
  });

  it('has no revision for the token endpoint', async () => {
    const { server, settings } = await startPlatform();
    const connection = createConnection({ ...settings, ALLOW_LOOPBACK: 'true' });
    expect(Object.keys(connection).sort()).toEqual(['baseUrl', 'dispatcher']);
    expect(connection.baseUrl).toBe(`${server.url}/v1`);
  });
});

describe('the token of an account', () => {
  it('is read from the account’s secret by version and scope', async () => {
    const token = { ...bearer, expires_at: '2026-11-21T07:00:00.000Z', issued_for: 'client' };
    const secret = createMemorySecret(Date.now, JSON.stringify({ 'reporting:read': token }));
    const secrets = await startSecretsManager({ secrets: new Map([['exports-test/acme/token', secret]]) });
    onTestFinished(() => secrets.close());
    setEnvironment(awsEnvironment({ SECRETS_MANAGER: secrets.endpoint }));
    const [{ id: version } = { id: '' }] = await secret.versions();
    const ref = { version, scope: 'reporting:read', expires_at: token.expires_at, unproven: false };
    const { readToken } = createPlatformAccess(SETTINGS);
    expect(await readToken('acme', ref)).toEqual(token);
    await expect(readToken('globex', ref)).rejects.toMatchObject({ name: 'TokenRefused' });
    expect(secrets.journal.map(({ operation, secret }) => [operation, secret])).toEqual([
      ['GetSecretValue', 'exports-test/acme/token'],
      ['GetSecretValue', 'exports-test/globex/token'],
    ]);
  });
});
