import { XMLBuilder, XMLParser } from 'fast-xml-parser';

/** S3's error codes and their HTTP statuses. A disk's errors are a 403: they last until a person acts. */
const STATUS = {
  AccessDenied: 403,
  BadDigest: 400,
  EACCES: 403,
  EDQUOT: 403,
  ENOSPC: 403,
  EPERM: 403,
  EROFS: 403,
  EntityTooSmall: 400,
  InternalError: 500,
  InvalidArgument: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRequest: 400,
  MalformedXML: 400,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
} as const;

export type ErrorCode = keyof typeof STATUS;

export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly code: ErrorCode;
  readonly status: number;

  constructor(code: ErrorCode, message: string = code) {
    super(message);
    this.code = code;
    this.status = STATUS[code];
  }
}

/** The error of a call that failed in any way. */
export function asS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  const { code } = Object(error) as { readonly code?: ErrorCode };
  return new S3Error(code && Object.hasOwn(STATUS, code) ? code : 'InternalError', String(error));
}

export type Answer = {
  status: number;
  headers?: Record<string, string>;
  /** XML, or a range of a file (`end` is the last byte). */
  body?: string | { path: string; start: number; end: number };
};

const BUILDER = new XMLBuilder({ ignoreAttributes: false });
const PARSER = new XMLParser({
  isArray: (name) => name === 'Part',
  parseTagValue: false,
  htmlEntities: true,
});
const PROLOG = { '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8' } };

/** An XML document in S3's namespace. An array repeats its element; undefined leaves it out. */
export function xml(root: string, content: object): string {
  const xmlns = 'http://s3.amazonaws.com/doc/2006-03-01/';
  return BUILDER.build({ ...PROLOG, [root]: { '@_xmlns': xmlns, ...content } });
}

/** S3's error document, which has no namespace. */
export function errorXml(Code: string, Message: string): string {
  return BUILDER.build({ ...PROLOG, Error: { Code, Message } });
}

/** Reads a document whose values are texts. @throws S3Error MalformedXML */
export function readXml(document: string) {
  try {
    return PARSER.parse(document, true);
  } catch {
    throw new S3Error('MalformedXML');
  }
}
