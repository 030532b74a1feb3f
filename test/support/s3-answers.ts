import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import { CREDENTIALS } from '../../infra/local/s3/server.ts';
import { type Answer, listen } from './listen.ts';

/** An S3 that may answer what the local one never does, an object of it, and an upload that is begun. */
export async function startS3Answers(answer: Answer, config: S3ClientConfig = {}) {
  const server = await listen(answer);
  const s3 = new S3Client({
    ...{ endpoint: server.url, region: 'eu-west-1', forcePathStyle: true },
    ...{ credentials: CREDENTIALS, maxAttempts: 1, ...config },
  });
  const dispatcher = new Agent();
  onTestFinished(async () => {
    s3.destroy();
    await dispatcher.destroy();
    await server[Symbol.asyncDispose]();
  });
  const to = { s3, dispatcher, bucket: 'exports', key: 'report.json' };
  return { server, to, upload: { id: 'an upload', origin: server.url, path: '/exports/report.json' } };
}

/** Refuses as S3 does, or as a gateway before it. */
export function refuse(status: number, text = '', headers: Record<string, string> = {}): Answer {
  return (_, response) => response.writeHead(status, headers).end(text);
}

export function errorOf(code: string): string {
  return `<Error><Code>${code}</Code></Error>`;
}
