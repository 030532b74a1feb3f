import { randomBytes } from 'node:crypto';
import { Agent, createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { UploadPartCommand } from '@aws-sdk/client-s3';
import { expect, it, vi } from 'vitest';
import { createS3Client } from '../../../functions/aws/s3.ts';
import { CREDENTIALS } from '../../../infra/lab/local/s3/server.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { startServer } from '../../support/listen.ts';
import { BUCKET } from '../../support/s3.ts';

it('25: a part is sent whole over TLS, and again after a 503', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0); // the SDK's pauses are random, from 0 up
  const bodies: Buffer[] = [];
  const http = createServer(CERTIFICATE, async (request, response) => {
    bodies.push(await buffer(request));
    response.writeHead(bodies.length === 1 ? 503 : 200).end();
  });
  await using server = await startServer(http);
  const client = createS3Client({
    endpoint: `https://127.0.0.1:${server.port}`,
    region: 'eu-west-1',
    forcePathStyle: true,
    credentials: CREDENTIALS,
    requestHandler: { httpsAgent: new Agent({ ca: CERTIFICATE.cert }) },
  });
  const Body = randomBytes(3_000_001);
  const part = { Bucket: BUCKET, Key: 'k', UploadId: 'u', PartNumber: 1, Body, ContentLength: Body.length };
  await client.send(new UploadPartCommand(part));
  client.destroy();
  expect(bodies.map((body) => body.equals(Body))).toEqual([true, true]);
});
