import type { IncomingMessage } from 'node:http';
import type { ObjectMeta } from './store.ts';

/** By method, and by the parameter of the query that tells the operations of a method apart. */
const OPERATIONS = {
  PUT: 'PutObject',
  GET: 'GetObject',
  HEAD: 'HeadObject',
  DELETE: 'DeleteObject',
  'GET list-type': 'ListObjectsV2',
  'POST uploads': 'CreateMultipartUpload',
  'PUT uploadId': 'UploadPart',
  'GET uploadId': 'ListParts',
  'POST uploadId': 'CompleteMultipartUpload',
  'DELETE uploadId': 'AbortMultipartUpload',
} as const;

export type Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];

/** `path` is the file that holds the part's bytes. */
export type UploadedPart = { number: number; bytes: number; crc32: string; etag: string; path: string };

export type Upload = {
  id: string;
  bucket: string;
  key: string;
  folder: string;
  described: Pick<ObjectMeta, 'contentType' | 'contentEncoding'>;
  parts: Map<number, UploadedPart>;
};

export type S3Options = {
  /** Objects are plain files at DIRECTORY/BUCKET/KEY. */
  directory: string;
  buckets: readonly string[];
  /** The clock for objects and the Date header: the SDK retries an error if Date is minutes off. */
  now?: () => number;
  /** The account that owns the buckets. Default: the one of the local services. */
  account?: string;
  /** Keeps each version of an object, for GetObject by id. Default: a new one replaces the one before. */
  versioned?: boolean;
  /** Default: S3's 5 MiB. Tests lower it to use many small parts. */
  minPartBytes?: number;
};

/** Shared by the calls of an endpoint. */
export type S3Endpoint = Required<S3Options> & { uploads: Map<string, Upload> };

/** A request whose body is not read yet. */
export type S3Call = S3Endpoint &
  ReturnType<typeof readAddress> & {
    request: IncomingMessage;
    header(name: string): string | undefined;
  };

/**
 * Reads the bucket, the key and perhaps the version from a path-style request, and its operation: undefined
 * for one that this endpoint does not have.
 */
export function readAddress({ method = '', url = '' }: IncomingMessage) {
  const [path = '', search = ''] = url.split('?', 2);
  const [bucket = '', ...rest] = path.split('/').slice(1).map(decodeURIComponent);
  const query = new URLSearchParams(search);
  const markers = ['list-type', 'uploads', 'uploadId'].filter((name) => query.has(name));
  const operations: Readonly<Record<string, Operation>> = OPERATIONS;
  const operation = operations[[method, ...markers].join(' ')];
  return { operation, bucket, key: rest.join('/'), version: query.get('versionId') ?? undefined, query };
}
