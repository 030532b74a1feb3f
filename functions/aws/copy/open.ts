import { S3Client } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import { checkUrl, type HostPolicy, safeConnector } from '../../workflow/safe-hosts.ts';
import type { Settings } from '../../workflow/settings.ts';
import type { StoredObject } from '../../workflow/states.ts';
import { copyToS3 } from './copy.ts';

// Create, Complete and PutObject are tried 4 times by the SDK, with pauses of at most 0.1 + 0.2 + 0.4 s.
const S3_TRIES = 4;

const CONTENT_TYPES: Readonly<Record<string, string>> = { JSON: 'application/json' };

/** The copy of one file, from its pre-signed URL to its key. */
export type Copy = (source: {
  readonly url: string;
  readonly key: string;
  /** As requested of the platform, for example JSON. */
  readonly format: string;
}) => Promise<Omit<StoredObject, 'key' | 'copied_at'>>;

/** The copy as the environment sets it up: the bucket, the largest file, and the hosts that may be read from. */
export function openCopy(settings: Settings): Copy {
  const policy: HostPolicy = {
    allowLoopback: settings.ALLOW_LOOPBACK === 'true',
    ...(settings.DOWNLOAD_HOSTS === undefined ? {} : { allowedHosts: settings.DOWNLOAD_HOSTS.split(',') }),
  };
  const s3 = new S3Client({ maxAttempts: S3_TRIES });
  const to = new Agent({ allowH2: false });
  return async ({ url, key, format }) => {
    const contentType = CONTENT_TYPES[format.toUpperCase()];
    const copied = await copyToS3({
      source: {
        url,
        connect: (onread) => safeConnector(policy, { onread }),
        maxBytes: Number(settings.MAX_DOWNLOAD_BYTES),
        checkUrl: (address) => checkUrl(address, policy),
      },
      destination: {
        s3,
        dispatcher: to,
        bucket: settings.BUCKET,
        key,
        expectedBucketOwner: settings.BUCKET_OWNER,
      },
      format,
      ...(contentType === undefined ? {} : { contentType }),
    });
    return {
      bytes: copied.bytes,
      crc32: copied.checksum.value,
      content_type: copied.contentType,
      ...(copied.contentEncoding === undefined ? {} : { content_encoding: copied.contentEncoding }),
      ...(copied.rows === undefined ? {} : { rows: copied.rows }),
      ...(copied.versionId === undefined ? {} : { version_id: copied.versionId }),
    };
  };
}
