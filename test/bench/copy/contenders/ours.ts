import { Agent } from 'undici';
import { copyToS3 } from '../../../../functions/copy/copy.ts';
import { safeConnector } from '../../../../functions/platform/safe-hosts.ts';
import { ACCOUNT } from '../../../../infra/local/s3/server.ts';
import { BUCKET, client } from './client.ts';

/** @param format anything but JSON leaves the rows uncounted */
export async function ours(url: string, endpoint: string, format: 'JSON' | 'bytes'): Promise<number> {
  const { bytes } = await copyToS3({
    source: {
      url,
      connect: (onread) => safeConnector({ allowLoopback: true }, { onread }),
      maxBytes: 1e12,
      checkUrl: () => {},
    },
    destination: {
      s3: client(endpoint),
      dispatcher: new Agent({ allowH2: false }),
      bucket: BUCKET,
      key: 'ours',
      expectedBucketOwner: ACCOUNT,
    },
    format,
  });
  return bytes;
}
