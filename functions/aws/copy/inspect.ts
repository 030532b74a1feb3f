import { createGunzip, type Gunzip } from 'node:zlib';
import { DownloadRefused } from '../../workflow/errors.ts';
import { type JsonShape, openJsonShape } from './json-shape.ts';

/** Watches the bytes of a file pass, to know whether it is whole, what it should be, and how many rows it has. */
export interface Inspection {
  /** Asks the sender to wait by returning a promise. @throws DownloadRefused */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Whether the file could end here, judged by its own shape. */
  closed(): Promise<boolean>;
  /**
   * To be called when the file is known to have ended.
   *
   * @throws DownloadRefused if it is empty, not what `format` says, or not decodable
   */
  end(): Promise<{ rows?: number }>;
}

/**
 * @param format as requested of the platform; anything but JSON is not looked into
 * @param contentEncoding gzip is decoded to look inside; the stored bytes stay as they came
 * @throws DownloadRefused if the encoding is one that cannot be checked
 */
export function inspect(
  format: string,
  contentType: string,
  contentEncoding: string | undefined,
): Inspection {
  const shape = format.toUpperCase() === 'JSON' ? openJsonShape() : undefined;
  const plain = inspectPlain(shape, contentType);
  if (contentEncoding === undefined) return plain;
  if (contentEncoding === 'gzip') return inspectGzip(plain);
  throw new DownloadRefused(`The file has the content encoding ${contentEncoding}, which cannot be checked.`);
}

/** Of bytes as they are: it never asks the sender to wait. */
interface PlainInspection extends Inspection {
  write(chunk: Buffer): undefined;
}

function inspectPlain(shape: JsonShape | undefined, contentType: string): PlainInspection {
  let bytes = 0;
  const refuse = (fault: string) => new DownloadRefused(`The file ${fault}. Nothing was stored.`, { bytes });
  return {
    write(chunk) {
      bytes += chunk.length;
      if (shape && !shape.write(chunk)) throw refuse('is not JSON, although JSON was asked for');
      return undefined;
    },
    closed: async () => shape?.closed() ?? false,
    async end() {
      if (bytes === 0) throw refuse('is empty');
      if (shape && !shape.closed())
        throw refuse('ends in the middle of its JSON, and the storage host says that is all');
      const lines = /ndjson|jsonl|json-lines/.test(contentType);
      const rows = shape?.rows() ?? (shape && lines ? 1 : undefined);
      return rows === undefined ? {} : { rows };
    },
  };
}

function inspectGzip(inside: PlainInspection): Inspection {
  const gunzip = createGunzip();
  let failure: unknown;
  gunzip.on('error', (error) => {
    failure ??= new DownloadRefused(`The file is not the gzip that it says it is (${error.message}).`);
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
      return gunzip.write(chunk) ? undefined : settled(gunzip, 'drain');
    },
    async closed() {
      if (failure === undefined) await new Promise<void>((resolve) => gunzip.flush(() => resolve()));
      return failure === undefined && (await inside.closed());
    },
    async end() {
      gunzip.end();
      await settled(gunzip, 'end');
      check();
      return inside.end();
    },
  };
}

/** Waits for an event, or for the error or close that comes in its place. */
function settled(gunzip: Gunzip, event: 'drain' | 'end'): Promise<void> {
  if (gunzip.destroyed || gunzip.readableEnded) return Promise.resolve();
  const names = [event, 'error', 'close'];
  return new Promise((resolve) => {
    const settle = () => {
      for (const name of names) gunzip.off(name, settle);
      resolve();
    };
    for (const name of names) gunzip.on(name, settle);
  });
}
