import { crc32 } from 'node:zlib';
import { layoutOf, openParts } from './layout.ts';
import type { PartOptions, Position, Ring } from './part-writer.ts';
import {
  abortUpload,
  completeUpload,
  createUpload,
  type Destination,
  type Kind,
  type Part,
  putWhole,
  type Stored,
  type Upload,
} from './upload.ts';

/** Writes one object: parts go out while the next one fills. Nothing is visible before `end` has returned. */
export interface ObjectWriter {
  /** Bytes that the part which fills still takes; at least one. */
  left(): number;
  /** Copies the chunk; asks the sender to wait by returning a promise, one at a time. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** @throws CopyFailed, AccessRefused, ServiceUnavailable */
  end(): Promise<Stored>;
  /**
   * Leaves it to a later call to go on: the upload stays. To be called once nothing waits for `write` any more.
   *
   * @returns undefined where no part has been stored, and so no upload may be left
   */
  leave(): Promise<Left | undefined>;
  /** Gives up: what was uploaded is removed. To be called once nothing waits for `write` any more. Never throws. */
  abort(): Promise<void>;
}

/** An object of which some parts are stored. */
export interface Left extends Position {
  readonly uploadId: string;
}

/** What an earlier call left, as S3 has it. */
export interface Begun {
  readonly upload: Upload;
  /** All before the position. */
  readonly parts: readonly Part[];
}

export interface WriterOptions extends PartOptions {
  /** Of the file, where the host says it. */
  readonly bytes?: number | undefined;
  /** For tests, with `size`. */
  readonly streamed?: boolean;
}

/** @param begun with `from` in the options, where an earlier call has begun the object */
export function openObjectWriter(
  to: Destination,
  kind: Kind,
  ring: Ring,
  options: WriterOptions = {},
  begun?: Begun,
): ObjectWriter {
  let upload = begun && Promise.resolve(begun.upload);
  const create = () => {
    upload ??= createUpload(to, kind);
    return upload;
  };
  const { bytes: until, ...writing } = options;
  const parts = openParts(to, create, ring, layoutOf(until, options), { ...writing, until });

  async function end(): Promise<Stored> {
    if (upload === undefined) {
      const body = parts.rest();
      return putWhole(to, kind, body, crc32(body));
    }
    const stored = await parts.end();
    return completeUpload(to, await upload, [...(begun?.parts ?? []), ...stored]);
  }

  async function leave(): Promise<Left | undefined> {
    const position = await parts.settle();
    const created = await upload?.catch(() => undefined);
    if (created && position.at > 0) return { uploadId: created.id, ...position };
    await abort();
    return undefined;
  }

  async function abort(): Promise<void> {
    // A part that arrives after the abort would stay for ever.
    await parts.stop();
    const created = await upload?.catch(() => undefined);
    if (created) await abortUpload(to, created);
  }

  return { left: parts.left, write: parts.write, end, leave, abort };
}
