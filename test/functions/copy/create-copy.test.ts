import { expect, onTestFinished, test } from 'vitest';
import { createCopy } from '../../../functions/copy/copy.ts';
import type { Settings } from '../../../functions/workflow/settings.ts';
import { jsonOf, KEY } from '../../support/copying.ts';
import { awsEnvironment, SETTINGS, setEnvironment } from '../../support/lambda.ts';
import { startTestS3 } from '../../support/s3.ts';
import { startStorageHost } from '../../support/storage-host.ts';

const { body } = jsonOf(50_000);

/** A file of 50,000 bytes on 127.0.0.1, and the copy as SaveReport creates it from its settings. */
async function start(settings: Partial<Settings>) {
  const s3 = await startTestS3({ requireOwner: true });
  onTestFinished(() => s3.close());
  const host = await startStorageHost({ body });
  onTestFinished(() => host[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  const { copy, abandon } = createCopy({ ...SETTINGS, ...settings } as Settings);
  const deadline = new AbortController().signal;
  const copying = () => copy({ url: host.url, key: KEY, format: 'json', deadline, checkpoint: undefined });
  return { s3, host, copying, abandon };
}

test.each<Partial<Settings>>([
  { ALLOW_LOOPBACK: 'true' },
  { ALLOW_LOOPBACK: 'true', DOWNLOAD_HOSTS: 'files.example, 127.0.0.1' },
  { ALLOW_LOOPBACK: 'true', MAX_DOWNLOAD_BYTES: '50000' },
])('a file is copied with the settings %j', async (settings) => {
  const { copying } = await start(settings);
  expect(await copying()).toMatchObject({ key: KEY, bytes: 50_000 });
});

test.each<[string, Partial<Settings>]>([
  [
    'a host that is not in DOWNLOAD_HOSTS',
    { ALLOW_LOOPBACK: 'true', DOWNLOAD_HOSTS: 'files.example,127.0.0.2' },
  ],
  ['this machine without ALLOW_LOOPBACK', {}],
])('21: nothing is requested from %s', async (_, settings) => {
  const { copying, host, s3 } = await start(settings);
  await expect(copying()).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect([host.requests, s3.journal]).toEqual([[], []]);
});

test('22: a file larger than MAX_DOWNLOAD_BYTES is refused before anything is stored', async () => {
  const { copying, host, s3 } = await start({ ALLOW_LOOPBACK: 'true', MAX_DOWNLOAD_BYTES: '49999' });
  await expect(copying()).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect([host.requests.length, s3.journal]).toEqual([1, []]);
});

test('an upload that does not exist any more is abandoned without an error', async () => {
  const { abandon, s3 } = await start({});
  await abandon(KEY, 'removed-by-lifecycle');
  expect(s3.journal).toMatchObject([{ operation: 'AbortMultipartUpload', key: KEY, status: 404 }]);
});
