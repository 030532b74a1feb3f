import { XMLBuilder, XMLParser } from 'fast-xml-parser';

/**
 * HTTP statuses of error codes. Any other code is a 400. A disk's errors are a 403: they last until a person
 * acts.
 */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  EACCES: 403,
  EDQUOT: 403,
  ENOSPC: 403,
  EPERM: 403,
  EROFS: 403,
  InternalError: 500,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
};

export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly code: string;
  readonly status: number;

  constructor(code: string, message = code) {
    super(message);
    this.code = code;
    this.status = STATUS_OF_CODE[code] ?? 400;
  }
}

/** The error of a call that failed in any way. */
export function asS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  const { code = '' } = Object(error) as { readonly code?: string };
  return new S3Error(Object.hasOwn(STATUS_OF_CODE, code) ? code : 'InternalError', String(error));
}

export type S3Answer = {
  /** Default: 200. */
  status?: number;
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
