import type { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Agent } from 'undici';
import { createS3Client } from '../../../functions/aws/s3.ts';
import { copyFile } from '../../../functions/copy/copy.ts';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';
import { CREDENTIALS, LOCAL_AWS_ACCOUNT } from '../../../infra/lab/local/s3/server.ts';

// Runs in a process of its own: one copy by one contender. Prints its time, CPU and memory as JSON.

const BUCKET = 'bench';

const [contender = '', url = '', endpoint = ''] = process.argv.slice(2);
const CLIENT = { endpoint, region: 'eu-west-1', forcePathStyle: true, credentials: CREDENTIALS };

const COPIES: Readonly<Record<string, () => Promise<unknown>>> = {
  raw: copyRaw,
  'lib-storage': copyByLibrary,
  ours: copyAsSaveReport,
};

const copy = COPIES[contender];
if (copy === undefined) throw new Error(`There is no contender ${contender}`);
const started = performance.now();
const before = process.cpuUsage();
await copy();
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, rss: maxRSS * 1024 }));

/** The limit: undici's GET piped into undici's PUT, without a check, a signature or a retry. */
async function copyRaw(): Promise<void> {
  const agent = new Agent({ allowH2: false });
  const { body, headers } = await agent.request({ ...target(url), method: 'GET' });
  const put = { ...target(`${endpoint}/${BUCKET}/raw`), method: 'PUT', body } as const;
  const length = String(headers['content-length']);
  const answer = await agent.request({ ...put, headers: { 'content-length': length } });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(text);
}

/** The usual choice: undici's body as the stream of the SDK's `Upload`, with the defaults of both. */
async function copyByLibrary(): Promise<void> {
  const { body } = await new Agent({ allowH2: false }).request({ ...target(url), method: 'GET' });
  const params = { Bucket: BUCKET, Key: 'lib-storage', Body: body as Readable };
  await new Upload({ client: new S3Client(CLIENT), params }).done();
}

async function copyAsSaveReport(): Promise<void> {
  await copyFile({
    source: { url, dispatcher: safeAgent({ allowLoopback: true }) },
    destination: {
      s3: createS3Client(CLIENT),
      bucket: BUCKET,
      key: 'ours',
      expectedBucketOwner: LOCAL_AWS_ACCOUNT,
      maxBytes: 1e12,
    },
    deadline: new AbortController().signal,
  });
}

function target(address: string) {
  const { origin, pathname: path } = new URL(address);
  return { origin, path };
}
