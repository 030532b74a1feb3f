import type { IncomingMessage } from 'node:http';
import type { ObjectMeta } from './store.ts';

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
  parts: Map<number, Part>;
};

export type S3Options = {
  /** Objects are plain files at DIRECTORY/BUCKET/KEY. */
  directory: string;
  buckets: readonly string[];
  /** Called when a request was processed, before its response is sent. */
  log?: (stored: Stored) => void;
  /** The clock for objects and the Date header: the SDK retries an error if Date is minutes off. */
  now?: () => number;
  /** The account that owns the buckets. Default: the one of the local services. */
  account?: string;
  /** Keeps each version of an object, for GetObject by id. Default: a new one replaces the one before. */
  versioned?: boolean;
  /** Default: S3's 5 MiB. Tests lower it to use many small parts. */
  minPartBytes?: number;
};

/** A request that succeeded. */
export type Stored = {
  operation: Operation;
  key: string;
  /** Size of the body of a PUT. */
  bytes: number;
};

/** Shared by the calls of an endpoint. */
export type Endpoint = Required<Omit<S3Options, 'log'>> & { uploads: Map<string, Upload> };

/** A request whose body is not read yet. */
export type Call = Endpoint &
  Address & {
    request: IncomingMessage;
    header(name: string): string | undefined;
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
