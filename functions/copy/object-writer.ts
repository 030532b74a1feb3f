import type { StoredObject } from '../workflow/state-parts.ts';
import type { ContentCheck } from './content.ts';
import { type BufferPool, createPartWriter, type FullPart, type Part, type Position } from './parts.ts';
import type { Destination } from './s3-call.ts';
import {
  abortUpload,
  completeUpload,
  createUpload,
  createUploadPart,
  type Kind,
  putObject,
  type Stored,
} from './upload.ts';

export type WrittenObject = Omit<StoredObject, 'copied_at' | 'rows'>;

/** Writes one object: one PUT if it is smaller than a part, a multipart upload otherwise. Visible only after `end`. */
export interface ObjectWriter {
  /** Copies the chunk. A returned promise asks the caller to wait before it writes again. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** @throws CopyFailed, AccessRefused, ServiceUnavailable, and DownloadRefused by the content check */
  end(): Promise<WrittenObject>;
  /**
   * Leaves the upload to a later call. A pending `write` fails.
   *
   * @returns undefined if no part was stored; then no upload is left either
   */
  leave(): Promise<(Position & { readonly uploadId: string }) | undefined>;
  /** Removes what was uploaded. A pending `write` fails. Never throws. */
  abort(): Promise<void>;
}

/** An upload of an earlier call, with the parts before the position. */
export interface Resumed extends Position {
  readonly uploadId: string;
  readonly parts: readonly Part[];
}

interface Options {
  readonly pool: BufferPool;
  readonly check?: ContentCheck;
  readonly resumed?: Resumed | undefined;
}

export function createObjectWriter(
  to: Destination,
  kind: Kind,
  { pool, check, resumed }: Options,
): ObjectWriter {
  let upload = resumed && Promise.resolve(resumed.uploadId);
  let isMultipart = resumed !== undefined;
  const created = () => {
    upload ??= createUpload(to, kind);
    return upload;
  };
  const uploadPart = createUploadPart(to);
  const sender = {
    async send(part: FullPart, signal: AbortSignal) {
      isMultipart = true;
      await check?.write(part.body);
      return uploadPart(await created(), part, signal);
    },
    progress: () => check?.progress(),
  };
  const parts = createPartWriter(sender, pool, resumed ?? { at: 0, json: undefined });

  async function end(): Promise<WrittenObject> {
    const { contentType, contentEncoding } = kind;
    return {
      key: to.key,
      ...(await store()),
      content_type: contentType,
      ...(contentEncoding !== undefined && { content_encoding: contentEncoding }),
    };
  }

  async function store(): Promise<Stored> {
    if (!isMultipart) {
      const body = parts.rest();
      await check?.write(body);
      await check?.end();
      return putObject(to, kind, body);
    }
    const stored = await parts.end();
    await check?.end();
    return completeUpload(to, await created(), [...(resumed?.parts ?? []), ...stored]);
  }

  async function leave() {
    const position = await parts.settle();
    const uploadId = await upload?.catch(() => undefined);
    if (uploadId !== undefined && position.at > 0) return { ...position, uploadId };
    await abort();
    return undefined;
  }

  async function abort(): Promise<void> {
    // A part that S3 stores after the abort would stay until the lifecycle rule removes it.
    await parts.stop();
    const uploadId = await upload?.catch(() => undefined);
    if (uploadId !== undefined) await abortUpload(to, uploadId);
  }

  return { write: parts.write, end, leave, abort };
}
