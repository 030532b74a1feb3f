import { createGunzip, type Gunzip } from 'node:zlib';
import { DownloadRefused } from '../workflow/errors.ts';
import { joinJson, openJsonFragment } from './json-fragment.ts';
import { openJsonShape } from './json-shape.ts';

/** Watches the bytes of a file pass, to know whether it is whole, what it should be, and how many rows it has. */
export interface Inspection {
  /** Asks the sender to wait by returning a promise. @throws DownloadRefused */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Whether the file is whole, judged by its own shape: lines may always be followed by more. */
  closed(): Promise<boolean>;
  /**
   * What another call's inspection goes on from, after the bytes written so far: printable, under 1 kB. undefined of gzip,
   * whose decoder cannot be saved: it is inspected from its beginning or not at all.
   */
  save(): string | undefined;
  /**
   * To be called when the file is known to have ended.
   *
   * @throws DownloadRefused if it is empty, not what `format` says, or not decodable
   */
  end(): Promise<Inspected>;
}

export interface Inspected {
  readonly rows?: number;
}

/**
 * @param format as requested of the platform; anything but JSON is not looked into, beyond that no format is a web page
 * @param contentEncoding gzip is decoded to look inside; the stored bytes stay as they came
 * @param saved by the inspection of the bytes before, which were not gzip
 * @throws DownloadRefused if the encoding is one that cannot be checked, or the file a web page
 */
export function inspect(
  format: string,
  contentType: string,
  contentEncoding: string | undefined,
  saved?: string,
): Inspection {
  if (!isJson(format) && /^text\/html\b/i.test(contentType)) throw refused('page', {});
  const plain = inspectPlain(format, contentType, saved);
  if (contentEncoding === undefined) return plain;
  if (contentEncoding === 'gzip') return inspectGzip(plain);
  throw new DownloadRefused(`The file has the content encoding ${contentEncoding}, which cannot be checked.`);
}

/** Of bytes as they are: it never asks the sender to wait, and can be saved. */
export interface PlainInspection extends Inspection {
  write(chunk: Buffer): undefined;
  save(): string;
}

export function inspectPlain(format: string, contentType: string, saved?: string): PlainInspection {
  const shape = isJson(format) ? openJsonShape(saved) : undefined;
  let bytes = 0;
  return {
    write(chunk) {
      bytes += chunk.length;
      if (shape && !shape.write(chunk)) throw refused('notJson', { bytes });
      return undefined;
    },
    closed: async () => !isLines(contentType) && (shape?.ended() ?? false),
    save: () => shape?.save() ?? '',
    async end() {
      if (bytes === 0 && saved === undefined) throw refused('empty', { bytes });
      return shape ? judge({ closed: shape.closed(), rows: shape.rows() }, contentType, { bytes }) : {};
    },
  };
}

/** Of bytes from the middle of a file, whose beginning another task inspects. */
export interface FragmentInspection {
  /** @throws DownloadRefused if the bytes cannot be what `format` says, whatever came before */
  write(chunk: Buffer): undefined;
  /** What another call goes on from, and what {@link joinInspections} takes: printable, under 2 kB. */
  save(): string;
}

export function inspectFragment(format: string, saved?: string): FragmentInspection {
  const fragment = isJson(format) ? openJsonFragment(saved) : undefined;
  return {
    write(chunk) {
      if (fragment && !fragment.write(chunk)) throw refused('notJson', {});
      return undefined;
    },
    save: () => fragment?.save() ?? '',
  };
}

/**
 * As the end of one inspection of all bytes.
 *
 * @param beginning saved by {@link inspectPlain}, of three bytes at least
 * @param fragments saved by {@link inspectFragment}, of all that follows, in order
 * @throws DownloadRefused if the file is not what `format` says
 */
export function joinInspections(
  format: string,
  contentType: string,
  [beginning, ...fragments]: readonly [string, ...string[]],
): Inspected {
  return isJson(format) ? judge(joinJson(beginning, fragments), contentType, {}) : {};
}

const isJson = (format: string) => format.toUpperCase() === 'JSON';

const isLines = (contentType: string) => /ndjson|jsonl|json-lines/.test(contentType);

function judge(
  found: ReturnType<typeof joinJson>,
  contentType: string,
  facts: { bytes?: number },
): Inspected {
  if (found === 'not JSON') throw refused('notJson', facts);
  if (!found.closed) throw refused('open', facts);
  const rows = found.rows ?? (isLines(contentType) ? 1 : undefined);
  return rows === undefined ? {} : { rows };
}

const FAULTS = {
  empty: 'is empty',
  notJson: 'is not JSON, although JSON was asked for',
  page: 'is a web page (text/html), which no report is',
  open: 'ends in the middle of its JSON, and the storage host says that is all',
};

function refused(fault: keyof typeof FAULTS, facts: { bytes?: number }): DownloadRefused {
  return new DownloadRefused(`The file ${FAULTS[fault]}. Nothing was stored.`, facts);
}

function inspectGzip(inside: PlainInspection): Inspection {
  const gunzip = createGunzip();
  let failure: unknown;
  let release = () => {};
  gunzip.on('error', (error) => {
    failure ??= new DownloadRefused(`The file is not the gzip that it says it is (${error.message}).`);
    release();
  });
  gunzip.on('data', (chunk: Buffer) => {
    try {
      inside.write(chunk);
    } catch (error) {
      failure ??= error;
    }
  });
  const check = () => {
    if (failure !== undefined) throw failure;
  };
  return {
    write(chunk) {
      check();
      // Until it is through with the chunk, whose memory the sender frees with the next one.
      return new Promise<void>((resolve) => {
        release = resolve;
        gunzip.write(chunk, () => resolve());
      });
    },
    async closed() {
      if (failure === undefined) await new Promise<void>((resolve) => gunzip.flush(() => resolve()));
      return failure === undefined && (await inside.closed());
    },
    save: () => undefined,
    async end() {
      gunzip.end();
      await ended(gunzip);
      check();
      return inside.end();
    },
  };
}

/** Waits for the end of what is decoded, or for the error or close that comes in its place. */
function ended(gunzip: Gunzip): Promise<void> {
  if (gunzip.destroyed || gunzip.readableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    for (const event of ['end', 'error', 'close']) gunzip.once(event, () => resolve());
  });
}
