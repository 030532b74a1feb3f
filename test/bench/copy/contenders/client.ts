import { S3Client } from '@aws-sdk/client-s3';
import { CREDENTIALS } from '../../../../infra/local/s3/server.ts';

export const BUCKET = 'bench';
export const REGION = 'eu-west-1';

export function client(endpoint: string): S3Client {
  return new S3Client({ endpoint, region: REGION, forcePathStyle: true, credentials: CREDENTIALS });
}
