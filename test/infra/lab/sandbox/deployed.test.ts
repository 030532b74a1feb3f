import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { LOCAL_AWS_ACCOUNT } from '../../../../infra/lab/local/s3/server.ts';
import { URL_SECONDS } from '../../../../infra/lab/sandbox/deployed/report-bucket.ts';
import { EXAMPLE_ADVERTISERS } from '../../../../infra/lab/sandbox/sandbox-options.ts';
import { BUCKET } from '../../../support/s3.ts';
import { send } from './client.ts';
import { startDeployedClient } from './hosts.ts';

const PLACE = { Bucket: BUCKET, ExpectedBucketOwner: LOCAL_AWS_ACCOUNT };

describe('the Lambda function', () => {
  it('keeps a report as its request with the time, and as its file, both under its id', async () => {
    const { create, s3 } = await startDeployedClient();
    const { id } = (await create()).json;
    const { Contents = [] } = await s3.client.send(new ListObjectsV2Command(PLACE));
    expect(Contents.map(({ Key }) => Key)).toEqual([`files/${id}.json`, `reports/${id}.json`]);
  });

  it.each([
    '..%2Ffiles%2Fa',
    'example',
    '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01.json',
  ])('reads no object for the id %s, which is no UUID', async (id) => {
    const { poll, s3 } = await startDeployedClient();
    expect((await poll(id)).status).toBe(404);
    expect(s3.journal).toEqual([]);
  });

  it('signs a download_url that expires', async () => {
    const { ready, pass } = await startDeployedClient();
    const { url } = await ready();
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe(String(URL_SECONDS));
    pass(URL_SECONDS - 1);
    expect((await send('GET', url)).status).toBe(200);
    pass(1);
    expect((await send('GET', url)).status).toBe(403);
  });

  it.each([
    ['another signature', (token: string) => `${token.slice(0, -4)}AAAA`],
    ['a later end', (token: string) => replaceClaims(token, { expires_at: 9_999_999_999_999 })],
    ['no signature', (token: string) => token.split('.')[0] ?? ''],
    ['an empty signature', (token: string) => `${token.split('.')[0]}.`],
  ])('refuses a token with %s', async (_, change) => {
    const { call, token } = await startDeployedClient();
    const authorization = `Bearer ${change(await token())}`;
    expect((await call('GET', '/campaigns', undefined, { authorization })).status).toBe(401);
  });

  it.each([
    ['GET', '/oauth2/auth?client_id=sandbox&redirect_uri=http://127.0.0.1/&response_type=code'],
    ['POST', '/oauth2/auth'],
    ['GET', '/campaigns'],
    ['POST', '/reports'],
    ['POST', '/reports/purchases'],
    ['GET', '/reports/5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'],
    ['GET', '/'],
  ])('answers %s %s without a token with 401', async (method, path) => {
    const { sandbox } = await startDeployedClient();
    const headers = { 'x-service-revision': sandbox.revision, 'x-api-key': 'undefined' };
    expect((await send(method, sandbox.baseUrl + path, { headers })).status).toBe(401);
  });

  it.each([
    ['is too large for Lambda', '1900-01-01'],
    // 91 years are 5.8 MiB, and 6.4 MiB with the escapes.
    ['is too large for Lambda with its quotes escaped', '1935-01-01'],
  ])('refuses an answer that %s', async (_, start_date) => {
    const { call, sandbox } = await startDeployedClient();
    const [advertiser_id] = sandbox.advertiserIds;
    const query = { advertiser_id, start_date, end_date: '2026-01-01' };
    const { status, envelope } = await call('POST', '/reports/purchases', query);
    expect({ status, message: envelope.message }).toEqual({
      status: 422,
      message: expect.stringContaining('Lambda does not send'),
    });
  });

  it('refuses a body that is too large', async () => {
    const { create } = await startDeployedClient();
    const { status, envelope } = await create({ comment: 'x'.repeat(64 * 1024) });
    expect({ status, message: envelope.message }).toEqual({
      status: 413,
      message: 'The body has more than 65536 bytes.',
    });
  });

  it.each([
    ['metrics', { metrics: Array(600).fill('spend') }],
    ['advertisers', { advertiser_ids: Array(500).fill(EXAMPLE_ADVERTISERS[0]) }],
    ['bytes in the name of a metric', { metrics: [`${'x'.repeat(50_000)}_value`] }],
  ])('refuses a report of too many %s for its memory, and stores nothing', async (_, fields) => {
    const { create, s3 } = await startDeployedClient();
    const range = { start_date: '2026-10-01', end_date: '2026-11-15' };
    const { status, envelope } = await create({ ...range, ...fields });
    expect({ status, message: envelope.message }).toEqual({
      status: 422,
      message: expect.stringContaining('which this sandbox does not make'),
    });
    expect(s3.journal).toEqual([]);
  });

  it('names the request in the error and in a header (contract 7.1)', async () => {
    const { call } = await startDeployedClient();
    const { headers, envelope } = await call('GET', '/nothing');
    expect(headers['x-request-id']).toBe(envelope.request_id);
  });
});

function replaceClaims(token: string, changes: object): string {
  const [, claims = '', signature] = /^sbx_at_(.*)\.(.*)$/.exec(token) ?? [];
  const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), ...changes };
  return `sbx_at_${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`;
}
