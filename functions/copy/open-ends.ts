import { Agent } from 'undici';
import { checkUrl, type HostPolicy, safeConnector } from '../platform/safe-hosts.ts';
import type { Copying } from '../workflow/copying.ts';
import type { Settings } from '../workflow/settings.ts';
import type { StoredObject } from '../workflow/states.ts';
import { type Abandon, openAbandon } from './abandon.ts';
import type { FileHead, Source } from './download.ts';
import { openS3Client } from './s3-client.ts';
import type { Destination, Stored } from './upload.ts';

/** The two ends of a copy as the environment sets them up: the hosts that may be read from, and the bucket. */
export interface Ends {
  source(url: string): Source;
  destination(key: string): Destination;
  readonly abandon: Abandon;
}

export function openEnds(settings: Settings): Ends {
  const policy: HostPolicy = {
    allowLoopback: settings.ALLOW_LOOPBACK === 'true',
    ...(settings.DOWNLOAD_HOSTS === undefined ? {} : { allowedHosts: settings.DOWNLOAD_HOSTS.split(',') }),
  };
  const s3 = openS3Client();
  const { BUCKET: bucket, BUCKET_OWNER: expectedBucketOwner } = settings;
  const to = new Agent({ allowH2: false });
  return {
    source: (url) => ({
      url,
      connect: (onread) => safeConnector(policy, { onread }),
      maxBytes: Number(settings.MAX_DOWNLOAD_BYTES),
      checkUrl: (address) => checkUrl(address, policy),
    }),
    destination: (key) => ({ s3, dispatcher: to, bucket, key, expectedBucketOwner }),
    abandon: openAbandon(settings, s3),
  };
}

/** What the state machine hands on of a file of which some is stored; such a file has a strong ETag and no encoding. */
export function toState({ etag = '', bytes }: FileHead, contentType: string): Copying['file'] {
  return { etag, content_type: contentType, ...(bytes === undefined ? {} : { bytes }) };
}

export function fromState({ etag, bytes, content_type }: Copying['file']): FileHead {
  return { etag, bytes, contentType: content_type, contentEncoding: undefined, ignoresRanges: false };
}

/** An object as the state and the manifest have it. */
export function storedFile(
  { bytes, crc32, versionId }: Stored,
  { contentType, contentEncoding, rows }: { contentType: string; contentEncoding?: string; rows?: number },
): Omit<StoredObject, 'key' | 'copied_at'> {
  return {
    bytes,
    crc32,
    content_type: contentType,
    ...(contentEncoding === undefined ? {} : { content_encoding: contentEncoding }),
    ...(rows === undefined ? {} : { rows }),
    ...(versionId === undefined ? {} : { version_id: versionId }),
  };
}
