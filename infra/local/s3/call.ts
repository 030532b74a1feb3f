import type { IncomingMessage } from 'node:http';
import type { ObjectMeta, ObjectPlace } from './store.ts';

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
  | 'AbortMultipartUpload';

/** `path` is the file that holds the part's bytes. */
export type Part = { number: number; bytes: number; crc32: number; etag: string; path: string };

export type Upload = {
  id: string;
  bucket: string;
  key: string;
  folder: string;
  described: Pick<ObjectMeta, 'contentType' | 'contentEncoding'>;
  initiated: string;
  parts: Map<number, Part>;
};

/** Writes bytes from `offset` on, as writeSync does. @returns how many it has written */
export type Write = (file: number, bytes: Buffer, offset: number) => number;

/** The space of the disk that this user may still fill. */
export type FreeBytes = (directory: string) => number;

/** A request whose body is not read yet, with the state of the endpoint that it needs. */
export type Call = ObjectPlace & {
  request: IncomingMessage;
  query: URLSearchParams;
  header(name: string): string | undefined;
  uploads: Map<string, Upload>;
  minPartBytes: number;
  now: () => number;
  write: Write;
  freeBytes: FreeBytes;
};

export type Address = {
  /** undefined for an operation that this endpoint does not have. */
  operation: Operation | undefined;
  bucket: string;
  key: string;
  query: URLSearchParams;
};

/** Reads the operation, bucket and key from a path-style request. */
export function readAddress({ method = '', url = '' }: IncomingMessage): Address {
  const [path = '', search = ''] = url.split('?', 2);
  const [bucket = '', ...rest] = path.split('/').slice(1).map(decodeURIComponent);
  const key = rest.join('/');
  const query = new URLSearchParams(search);
  return { operation: operationOf(method, key, query), bucket, key, query };
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

function operationOf(method: string, key: string, query: URLSearchParams): Operation | undefined {
  if (key === '') return method === 'GET' && query.get('list-type') === '2' ? 'ListObjectsV2' : undefined;
  if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
  return (query.has('uploadId') ? UPLOAD_OPERATIONS : OBJECT_OPERATIONS)[method];
}
