import { cp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { asS3Error } from '../../../../../infra/lab/local/s3/answers.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../../../infra/lab/local/s3/server.ts';
import { listKeys, newestChange, readMeta } from '../../../../../infra/lab/local/s3/store.ts';
import { BUCKET, filesIn, startTestS3, type TestS3 } from '../../../../support/s3.ts';

const at = {
  Bucket: BUCKET,
  ExpectedBucketOwner: LOCAL_AWS_ACCOUNT,
  Key: 'exports/account=acme/report.json',
};

function put({ client }: TestS3, Key: string, Body: string | Buffer = 'x') {
  return client.send(new PutObjectCommand({ ...at, Key, Body }));
}

test("the newest change of an object is told by the server's clock, after a restart too", async () => {
  const future = Date.now() + 24 * 60 * 60 * 1000;
  let now = future;
  await using s3 = await startTestS3({ now: () => now });
  expect(await newestChange(s3.directory)).toBeUndefined();
  await put(s3, at.Key);
  now = Date.now();
  await put(s3, 'exports/account=acme/later.json');
  await writeFile(join(s3.directory, BUCKET, '.meta', 'exports', 'broken.json'), '{');
  expect(await newestChange(s3.directory)).toBe(future);
  expect(await newestChange(join(s3.directory, 'absent'))).toBeUndefined();
});

const NO_PATHS = ['../outside', 'a/../../b', '/absolute', 'a//b', '.meta/x', '.uploads/x', 'a\\b'];
test.each(NO_PATHS)('the key %s is no path in the folder, and nothing is stored', async (key) => {
  await using s3 = await startTestS3();
  await expect(put(s3, key)).rejects.toMatchObject({ name: 'InvalidArgument' });
  expect(await filesIn(s3)).toEqual([]);
});

test('a folder that cannot be read is an error, and an absent one has no keys', async () => {
  await using s3 = await startTestS3();
  await symlink('loop', join(s3.directory, BUCKET, 'loop'));
  await writeFile(join(s3.directory, BUCKET, 'file'), '');
  const list = (prefix: string) => listKeys(s3.directory, BUCKET, prefix);
  expect(await list('absent/')).toEqual([]);
  expect(await list('file/')).toEqual([]);
  await expect(list('loop/')).rejects.toMatchObject({ code: 'ELOOP' });
});

test('51: an object whose writer was killed between its renames stays as before, and can be replaced', async () => {
  await using s3 = await startTestS3();
  const path = join(s3.directory, BUCKET, at.Key);
  const read = async () => {
    const { Body, ChecksumCRC32, ETag } = await s3.client.send(
      new GetObjectCommand({ ...at, ChecksumMode: 'ENABLED' }),
    );
    return { text: await Body?.transformToString(), ChecksumCRC32, ETag };
  };
  await put(s3, at.Key, 'one');
  const before = await read();
  await rename(path, `${path}.before`);
  // Of the same size.
  await put(s3, at.Key, 'two');
  await rename(`${path}.before`, path);
  const killed = await read();
  expect(killed).toMatchObject({ text: 'one', ChecksumCRC32: before.ChecksumCRC32 });
  const { ETag: IfMatch } = killed;
  await s3.client.send(new PutObjectCommand({ ...at, Body: 'six', IfMatch }));
  expect(await read()).toMatchObject({ text: 'six' });
});

test('an object of a folder that was copied keeps its metadata, whatever its time on the disk', async () => {
  await using s3 = await startTestS3();
  await put(s3, at.Key, 'one');
  const path = join(s3.directory, BUCKET, at.Key);
  const before = readMeta({ directory: s3.directory, bucket: BUCKET, key: at.Key });
  await cp(path, `${path}.copy`);
  await rename(`${path}.copy`, path);
  expect(await readFile(path, 'utf8')).toBe('one');
  expect(readMeta({ directory: s3.directory, bucket: BUCKET, key: at.Key })).toEqual(before);
});

test('a full disk is an error that lasts, with its own code', () => {
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  expect(asS3Error(full)).toMatchObject({ code: 'ENOSPC', status: 403 });
});
