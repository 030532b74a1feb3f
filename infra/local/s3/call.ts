import type { IncomingMessage } from 'node:http';
import type { ObjectPlace } from './store.ts';

export type Operation =
  | 'PutObject'
  | 'GetObject'
  | 'HeadObject'
  | 'DeleteObject'
  | 'ListObjectsV2'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'ListParts'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'ListMultipartUploads';

/** `path` is the file that holds the part's bytes. */
export type Part = { number: number; bytes: number; crc32: number; etag: string; path: string };

export type Upload = {
  id: string;
  bucket: string;
  key: string;
  folder: string;
  contentType: string;
  contentEncoding?: string;
  metadata?: Record<string, string>;
  checksumType: 'FULL_OBJECT' | 'COMPOSITE';
  initiated: string;
  parts: Map<number, Part>;
  /** Set while a Complete is processed. Resolves when it has succeeded or failed. */
  completing?: Promise<unknown>;
};

/** A request whose body is not read yet, with the state of the endpoint that it needs. */
export type Call = ObjectPlace & {
  operation: Operation;
  request: IncomingMessage;
  query: URLSearchParams;
  header(name: string): string | undefined;
  uploads: Map<string, Upload>;
  minPartBytes: number;
  now: () => number;
  sink: boolean;
};

export type Address = {
  /** undefined for an operation that this endpoint does not have. */
  operation: Operation | undefined;
  bucket: string;
  key: string;
  query: URLSearchParams;
};

export function readAddress({ method = '', url = '' }: IncomingMessage): Address {
  const [path = '', search = ''] = url.split('?', 2);
  const [bucket = '', ...rest] = path.split('/').slice(1).map(decodeURIComponent);
  const key = rest.join('/');
  const query = new URLSearchParams(search);
  const operation = key === '' ? bucketOperation(method, query) : objectOperation(method, query);
  return { operation, bucket, key, query };
}

function bucketOperation(method: string, query: URLSearchParams): Operation | undefined {
  if (method !== 'GET') return undefined;
  if (query.has('uploads')) return 'ListMultipartUploads';
  return query.get('list-type') === '2' ? 'ListObjectsV2' : undefined;
}

const OBJECT_OPERATIONS: Readonly<Record<string, Operation>> = {
  PUT: 'PutObject',
  GET: 'GetObject',
  HEAD: 'HeadObject',
  DELETE: 'DeleteObject',
};
const UPLOAD_OPERATIONS: Readonly<Record<string, Operation>> = {
  PUT: 'UploadPart',
  GET: 'ListParts',
  POST: 'CompleteMultipartUpload',
  DELETE: 'AbortMultipartUpload',
};

function objectOperation(method: string, query: URLSearchParams): Operation | undefined {
  if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
  return (query.has('uploadId') ? UPLOAD_OPERATIONS : OBJECT_OPERATIONS)[method];
}
