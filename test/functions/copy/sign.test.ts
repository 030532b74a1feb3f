import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { type Credentials, signPut, type Unsigned } from '../../../functions/copy/sign.ts';

const now = new Date('2026-11-21T06:00:00.123Z');
const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const part: Unsigned = {
  host: 's3.eu-west-1.amazonaws.com',
  path: '/exports/account%3Dacme/report.json',
  query: { uploadId: "a/b+c d!'()*~", partNumber: '12' },
  headers: { 'x-amz-expected-bucket-owner': '123456789012', 'x-amz-checksum-crc32': 'AAAAAA==' },
};

/** What the SDK sends along with the same request. */
async function bySdk({ payload = 'UNSIGNED-PAYLOAD', ...request }: Unsigned, credentials: Credentials) {
  const s3 = new S3Client({ region: 'eu-west-1', credentials });
  const signer = await s3.config.signer();
  const signed = await signer.sign(
    {
      ...{ method: 'PUT', protocol: 'https:', hostname: request.host, path: request.path },
      query: { ...request.query },
      headers: { ...request.headers, host: request.host, 'x-amz-content-sha256': payload },
    },
    { signingDate: now },
  );
  return signed.headers;
}

test.each<[string, Partial<Unsigned>, { sessionToken?: string }]>([
  ['by a role, as every function is', {}, { sessionToken: 'a session token' }],
  ["by a user's key", {}, {}],
  ['whose checksum comes behind its bytes', { payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' }, {}],
  ['to a port of its own', { host: '127.0.0.1:9000' }, {}],
])('a part %s is signed as the SDK would sign it', async (_, change, session) => {
  const request = { ...part, ...change };
  const credentials = { ...key, ...session };
  const { headers, path } = signPut(request, { region: 'eu-west-1', credentials, now });
  expect(headers).toEqual(await bySdk(request, credentials));
  expect(path).toBe(`${part.path}?partNumber=12&uploadId=a%2Fb%2Bc%20d%21%27%28%29%2A~`);
});
