import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { createS3Client } from '../../functions/aws/s3.ts';
import type { Destination } from '../../functions/copy/upload.ts';
import { LOCAL_AWS_ACCOUNT } from '../../infra/lab/local/s3/server.ts';
import { type Answer, listen } from './listen.ts';
import { s3ConfigOf } from './s3.ts';

/** An S3 that gives answers which the local one never gives, and an object of it. */
export async function startS3Answers(answer: Answer, config: S3ClientConfig = {}) {
  const server = await listen(answer);
  const s3 = createS3Client({ ...s3ConfigOf({ endpoint: server.url }), ...config });
  onTestFinished(async () => {
    s3.destroy();
    await server[Symbol.asyncDispose]();
  });
  const to: Destination = {
    s3,
    bucket: 'exports',
    key: 'report.json',
    expectedBucketOwner: LOCAL_AWS_ACCOUNT,
    maxBytes: 1_000,
  };
  return { server, to };
}

/** Refuses as S3 does, or as a gateway before it. */
export function refuse(status: number, text = '', headers: Record<string, string> = {}): Answer {
  return (_, response) => response.writeHead(status, headers).end(text);
}

export function errorOf(code: string): string {
  return `<Error><Code>${code}</Code></Error>`;
}
