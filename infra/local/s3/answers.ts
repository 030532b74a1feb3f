/** S3's error codes and their HTTP statuses. Those of the disk are a 403, because they last until a person acts. */
const STATUS = {
  AccessDenied: 403,
  BadDigest: 400,
  EACCES: 403,
  EDQUOT: 403,
  ENOSPC: 403,
  EPERM: 403,
  EROFS: 403,
  EntityTooSmall: 400,
  IncompleteBody: 400,
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

/** The content of an element: text or child elements. An array repeats the element; undefined leaves it out. */
type Content = string | number | boolean | undefined | Elements;
type Elements = { [name: string]: Content | readonly Content[] };

/** An XML document in S3's namespace. */
export function xml(root: string, content: Elements): string {
  const open = `<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${open}${elements(content)}</${root}>`;
}

/** S3's error document, which has no namespace. */
export function errorXml(code: string, message: string): string {
  const content = elements({ Code: code, Message: message });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${content}</Error>`;
}

function elements(content: Elements): string {
  return Object.entries(content)
    .flatMap(([name, value]) => [value].flat().map((one) => element(name, one as Content)))
    .join('');
}

function element(name: string, value: Content): string {
  if (value === undefined) return '';
  return `<${name}>${typeof value === 'object' ? elements(value) : escapeText(String(value))}</${name}>`;
}

function escapeText(text: string): string {
  return text.replace(/[&<>"\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The unescaped text of the first element `name` in `xml`. */
export function textOf(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
}
