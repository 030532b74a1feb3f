import type { IncomingMessage } from 'node:http';
import type { Operation } from './faults.ts';
import type { Uploads } from './uploads.ts';

/** One request, read as far as its head, and what serves it. */
export type Call = {
  operation: Operation;
  request: IncomingMessage;
  directory: string;
  bucket: string;
  key: string;
  query: URLSearchParams;
  header(name: string): string | undefined;
  uploads: Uploads;
  minPartBytes: number;
  sink: boolean;
};

/** Which of S3's operations a request is; undefined for those that we do not serve. */
export function operationOf(method: string, key: string, query: URLSearchParams): Operation | undefined {
  if (key === '') {
    if (method !== 'GET') return undefined;
    if (query.has('uploads')) return 'ListMultipartUploads';
    return query.get('list-type') === '2' ? 'ListObjectsV2' : undefined;
  }
  const plain = { PUT: 'PutObject', GET: 'GetObject', HEAD: 'HeadObject', DELETE: 'DeleteObject' } as const;
  const upload = {
    PUT: 'UploadPart',
    GET: 'ListParts',
    POST: 'CompleteMultipartUpload',
    DELETE: 'AbortMultipartUpload',
  } as const;
  if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
  const operations: Record<string, Operation> = query.has('uploadId') ? upload : plain;
  return operations[method];
}
