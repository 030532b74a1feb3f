import { createGunzip } from 'node:zlib';
import type { JsonProgress } from '../workflow/checkpoint.ts';
import { DownloadRefused } from '../workflow/errors.ts';

/** Checks the bytes of a file in the order in which they come. */
export interface ContentCheck {
  /**
   * The bytes must not change until the promise is fulfilled.
   *
   * @throws DownloadRefused as soon as the bytes cannot belong to a file of this format
   */
  write(bytes: Buffer): Promise<void> | undefined;
  /** The result so far, for a check in a later call. */
  progress(): JsonProgress | undefined;
  /**
   * All bytes were written.
   *
   * @throws DownloadRefused if the file is empty, does not end like JSON although JSON was requested, or is not decodable
   */
  end(): Promise<void>;
}

export interface ContentOptions {
  /** As requested of the platform. Only JSON is checked further. */
  readonly format: string;
  readonly contentType: string;
  readonly contentEncoding?: string | undefined;
  /** Set if an earlier call has checked the bytes before. */
  readonly resumed?: { readonly json?: JsonProgress | undefined } | undefined;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The first character of JSON, and the last one: an array, an object, or `null`, which some platforms write for no rows. */
const ENDS: Readonly<Record<string, string>> = { '[': ']', '{': '}', n: 'l' };

/**
 * The second byte of gzip; the first one counts as white space. A compressed report may come without a Content-Encoding. Only
 * CurateReport looks inside of it.
 */
const GZIP = '\x8b';

/**
 * Checks the bytes inside of gzip. The stored bytes stay compressed.
 *
 * @throws DownloadRefused if the file is a web page, or has an encoding other than gzip
 */
export function createContentCheck(options: ContentOptions): ContentCheck {
  const { contentType, contentEncoding } = options;
  if (isHtml(contentType)) throw refused('is a web page (text/html), not a report');
  const plain = createPlainCheck(options);
  if (contentEncoding === undefined) return plain;
  if (contentEncoding === 'gzip') return createGzipCheck(plain);
  throw new DownloadRefused(`The file has the content encoding ${contentEncoding}, which cannot be checked.`);
}

export function isHtml(contentType: string): boolean {
  return /^text\/html\b/i.test(contentType);
}

/** Normalizes a Content-Encoding header. undefined means no encoding. */
export function encodingOf(header: string | undefined): string | undefined {
  const encoding = header
    ?.trim()
    .toLowerCase()
    .replace(/^x-gzip$/, 'gzip');
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

interface PlainCheck extends ContentCheck {
  write(bytes: Buffer): undefined;
}

function createPlainCheck({ format, contentType, resumed }: ContentOptions): PlainCheck {
  const isJson = format.toUpperCase() === 'JSON';
  const isLines = /ndjson|jsonl|json-lines/i.test(contentType);
  const ends = createJsonEnds(resumed?.json);
  let isEmpty = resumed === undefined;
  let mark = isEmpty ? 0 : BYTE_ORDER_MARK.length; // bytes of a byte order mark, which may come in several pieces
  const withoutMark = (bytes: Buffer) => {
    let at = 0;
    while (at < bytes.length && mark < BYTE_ORDER_MARK.length && bytes[at] === BYTE_ORDER_MARK[mark]) {
      at++;
      mark++;
    }
    if (at === bytes.length) return bytes.subarray(at);
    if (mark > 0 && mark < BYTE_ORDER_MARK.length) throw refused('is not JSON, although JSON was requested');
    mark = BYTE_ORDER_MARK.length;
    return bytes.subarray(at);
  };
  return {
    write(bytes) {
      isEmpty &&= bytes.length === 0;
      if (!isJson) return undefined;
      const text = withoutMark(bytes);
      ends.write(text);
      const first = ends.first();
      if (first !== '' && first !== GZIP && !ENDS[first])
        throw refused('is not JSON, although JSON was requested');
      return undefined;
    },
    progress: () => (isJson ? { first: ends.first(), last: ends.last() } : undefined),
    async end() {
      if (isEmpty) throw refused('is empty');
      if (!isJson) return;
      if (ends.first() === '') throw refused('is not JSON, although JSON was requested');
      if (!ends.match(isLines)) throw refused('is not complete JSON');
    },
  };
}

/** The first and the last byte of a text that are not white space. */
interface JsonEnds {
  write(text: Buffer): void;
  /** One character, or none if all bytes were white space. */
  first(): string;
  last(): string;
  /** Returns true if the last byte fits the first one. Lines may begin and end with different brackets. */
  match(isLines: boolean): boolean;
}

function createJsonEnds(
  before: { readonly first: string; readonly last: string } = { first: '', last: '' },
): JsonEnds {
  let { first, last } = before;
  return {
    write(text) {
      if (first === '') first = characterAt(text, text.findIndex(isInk));
      last = characterAt(text, text.findLastIndex(isInk)) || last;
    },
    first: () => first,
    last: () => last,
    match(isLines) {
      if (first === GZIP) return true;
      return isLines ? /[\]}]/.test(last) : ENDS[first] === last;
    },
  };
}

function isInk(byte: number): boolean {
  return byte > 0x20;
}

function characterAt(text: Buffer, at: number): string {
  return at < 0 ? '' : String.fromCharCode(text[at] ?? 0);
}

function refused(fault: string): DownloadRefused {
  return new DownloadRefused(`The file ${fault}. Nothing was stored.`);
}

function createGzipCheck(inside: PlainCheck): ContentCheck {
  const gunzip = createGunzip();
  let failure: unknown;
  gunzip.on('error', (error) => {
    failure ??= new DownloadRefused(`The file is labeled as gzip and cannot be decoded (${error.message}).`);
  });
  gunzip.on('data', (bytes: Buffer) => {
    try {
      inside.write(bytes);
    } catch (error) {
      failure ??= error;
    }
  });
  const throwFailure = () => {
    if (failure !== undefined) throw failure;
  };
  return {
    async write(bytes) {
      throwFailure();
      await new Promise<void>((resolve) => {
        const done = () => resolve();
        gunzip.once('close', done); // after an error, the callback of a write may never come
        gunzip.write(bytes, () => {
          gunzip.off('close', done);
          done();
        });
      });
      throwFailure();
    },
    // A decoder cannot be saved.
    progress: () => undefined,
    async end() {
      gunzip.end();
      if (!gunzip.destroyed && !gunzip.readableEnded) {
        await new Promise<void>((resolve) => {
          for (const event of ['end', 'error', 'close']) gunzip.once(event, () => resolve());
        });
      }
      throwFailure();
      await inside.end();
    },
  };
}
