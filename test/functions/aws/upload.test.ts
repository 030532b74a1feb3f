import { S3Client } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { abortUpload, createUpload, findUpload } from '../../../functions/aws/copy/upload.ts';
import { CREDENTIALS } from '../../../infra/local/s3/server.ts';
import { type Answer, listen } from '../../support/listen.ts';

const KIND = { contentType: 'application/json' };

/** An S3 that may answer what the local one never does. */
async function startAnswers(answer: Answer) {
  const server = await listen(answer);
  const s3 = new S3Client({
    ...{ endpoint: server.url, region: 'eu-west-1', forcePathStyle: true },
    ...{ credentials: CREDENTIALS, maxAttempts: 1 },
  });
  const dispatcher = new Agent();
  onTestFinished(async () => {
    s3.destroy();
    await dispatcher.destroy();
    await server[Symbol.asyncDispose]();
  });
  return { server, to: { s3, dispatcher, bucket: 'exports', key: 'exports/report.json' } };
}

function sendXml(text: string): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

const listed = (number: number, checksum: string) =>
  `<Part><PartNumber>${number}</PartNumber><Size>5</Size><ETag>"e${number}"</ETag>${checksum}</Part>`;

test('a part that S3 lists without a checksum is taken for none', async () => {
  const checksum = '<ChecksumCRC32>AAAAAQ==</ChecksumCRC32>';
  const parts = [listed(1, checksum), listed(2, ''), listed(3, checksum)].join('');
  const { to, server } = await startAnswers(sendXml(`<ListPartsResult>${parts}</ListPartsResult>`));
  const found = await findUpload(to, 'an-upload');
  expect(found).toEqual({
    upload: { id: 'an-upload', origin: server.url, path: '/exports/exports/report.json' },
    parts: [1, 3].map((number) => ({ number, bytes: 5, crc32: 1, etag: `"e${number}"` })),
  });
});

test('an upload of which S3 lists no part has none', async () => {
  const { to } = await startAnswers(sendXml('<ListPartsResult></ListPartsResult>'));
  expect((await findUpload(to, 'an-upload'))?.parts).toEqual([]);
});

test('the permission to list is named where S3 refuses', async () => {
  const { to } = await startAnswers((_, response) =>
    response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>'),
  );
  await expect(findUpload(to, 'an-upload')).rejects.toMatchObject({
    name: 'AccessRefused',
    facts: { permission: 's3:ListMultipartUploadParts', status: 403 },
  });
});

test('an answer that names no upload begins none', async () => {
  const { to } = await startAnswers(
    sendXml('<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'),
  );
  await expect(createUpload(to, KIND)).rejects.toMatchObject({ name: 'CopyFailed' });
});

test('an abort that S3 does not answer is left after 8 s, and one that it refuses at once', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
  onTestFinished(() => timeout.mockRestore());
  const silent = await startAnswers(() => {});
  await abortUpload(silent.to, { id: 'an-upload' });
  expect(timeout.mock.calls).toEqual([[8_000]]);
  timeout.mockRestore();
  const refusing = await startAnswers((_, response) => response.writeHead(403).end());
  await abortUpload(refusing.to, { id: 'an-upload' });
  expect(refusing.server.requests).toHaveLength(1);
});
