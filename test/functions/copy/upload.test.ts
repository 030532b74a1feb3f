import { crc32 } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { abortUpload, createUpload, findUpload, putWhole } from '../../../functions/copy/upload.ts';
import type { Answer } from '../../support/listen.ts';
import { errorOf, refuse, startS3Answers } from '../../support/s3-answers.ts';

const KIND = { contentType: 'application/json' };

function sendXml(text: string): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

const listed = (number: number, checksum: string) =>
  `<Part><PartNumber>${number}</PartNumber><Size>5</Size><ETag>"e${number}"</ETag>${checksum}</Part>`;

test('a part that S3 lists without a checksum is taken for none', async () => {
  const checksum = '<ChecksumCRC32>AAAAAQ==</ChecksumCRC32>';
  const parts = [listed(1, checksum), listed(2, ''), listed(3, checksum)].join('');
  const { to, server } = await startS3Answers(sendXml(`<ListPartsResult>${parts}</ListPartsResult>`));
  const found = await findUpload(to, 'an-upload');
  expect(found).toEqual({
    upload: { id: 'an-upload', origin: server.url, path: '/exports/report.json' },
    parts: [1, 3].map((number) => ({ number, bytes: 5, crc32: 1, etag: `"e${number}"` })),
  });
});

test('an upload of which S3 lists no part has none', async () => {
  const { to } = await startS3Answers(sendXml('<ListPartsResult></ListPartsResult>'));
  expect((await findUpload(to, 'an-upload'))?.parts).toEqual([]);
});

test('the permission to list is named where S3 refuses', async () => {
  const { to } = await startS3Answers(refuse(403, errorOf('AccessDenied')));
  await expect(findUpload(to, 'an-upload')).rejects.toMatchObject({
    name: 'AccessRefused',
    facts: { permission: 's3:ListMultipartUploadParts', status: 403 },
  });
});

test('an answer that names no upload begins none', async () => {
  const { to } = await startS3Answers(
    sendXml('<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'),
  );
  await expect(createUpload(to, KIND)).rejects.toMatchObject({ name: 'CopyFailed' });
});

test.each([
  [
    { ETag: '"e"', 'x-amz-version-id': 'v7' },
    { etag: '"e"', versionId: 'v7' },
  ],
  [{ ETag: '"e"' }, { etag: '"e"' }],
  [{}, {}],
])('an object is what S3 says of it: %j', async (headers, said) => {
  const body = Buffer.from('[]');
  const crc = base64Crc32(crc32(body));
  const { to } = await startS3Answers(refuse(200, '', { ...headers, 'x-amz-checksum-crc32': crc }));
  expect(await putWhole(to, KIND, body, crc32(body))).toEqual({ bytes: 2, crc32: crc, ...said });
});

test('an abort that S3 does not answer is left after 8 s, and one that it refuses at once', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
  onTestFinished(() => timeout.mockRestore());
  const silent = await startS3Answers(() => {});
  await abortUpload(silent.to, { id: 'an-upload' });
  expect(timeout.mock.calls).toEqual([[8_000]]);
  timeout.mockRestore();
  const refusing = await startS3Answers(refuse(403));
  await abortUpload(refusing.to, { id: 'an-upload' });
  expect(refusing.server.requests).toHaveLength(1);
});
