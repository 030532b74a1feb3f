import { type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { manifestKey, objectKey } from '../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { Window } from '../../functions/workflow/state-parts.ts';

const TARGET = { platform: 'api.example', revision: '2026-09-01' };

/** The manifest of an export's only window, whose report was created in the morning after its last day. */
export function manifestOf(request: ExportRequest, execution = 'e', target: RequestTarget = TARGET) {
  const { account, name, kind, start_date, end_date } = request;
  const created = `${end_date}T06:00:00Z`;
  return {
    version: '1',
    account,
    export: name,
    kind,
    start_date,
    end_date,
    request: {},
    export_request: request,
    request_hash: requestHash(request, target),
    ...target,
    report_id: 'r',
    report_created_at: created,
    bucket: 'b',
    key: objectKey(request, request),
    bytes: 1,
    content_type: 'application/json',
    checksum: { algorithm: 'CRC32', type: 'FULL_OBJECT', value: 'AA' },
    copied_at: created,
    published_at: created,
    execution,
    warnings: [],
  };
}

/** A bucket in memory, with the keys that were listed and read. */
export function createBucket() {
  const texts = new Map<string, string>();
  const objects = new Map<string, { crc32?: string; version_id?: string }>();
  const lists: (readonly [prefix: string, after?: string])[] = [];
  const reads: string[] = [];
  /** Leaves the object and the manifest of a window, with these changes to the manifest. */
  function deliver(request: ExportRequest, window: Window, changes: object = {}, target = TARGET): void {
    const manifest = { ...manifestOf({ ...request, ...window }, 'e', target), version_id: 'v1', ...changes };
    texts.set(manifestKey(request, window), JSON.stringify(manifest));
    objects.set(objectKey(request, window), { crc32: 'AA', version_id: 'v1' });
  }
  const store = {
    async list(...parameters: (typeof lists)[number]) {
      lists.push(parameters);
      const [prefix, after = ''] = parameters;
      return [...texts.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    },
    async getText(key: string) {
      reads.push(key);
      return texts.get(key);
    },
    /** There is no table. */
    readEnd: async () => undefined,
    async putJson(key: string, value: unknown, replaces?: { readonly etag: string } | 'absent') {
      if (replaces === 'absent' && texts.has(key)) return false;
      texts.set(key, JSON.stringify(value));
      return true;
    },
    async remove(key: string) {
      texts.delete(key);
    },
    async head(key: string, version?: string) {
      const object = objects.get(key);
      return version === undefined || version === object?.version_id ? object : undefined;
    },
  };
  return { texts, objects, lists, reads, deliver, store };
}
