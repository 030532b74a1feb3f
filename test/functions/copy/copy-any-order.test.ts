import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CopyCheckpoint } from '../../../functions/copy/copy.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import type { WrittenObject } from '../../../functions/copy/object-writer.ts';
import { abortUpload } from '../../../functions/copy/upload.ts';
import {
  CopyFailed,
  ExportError,
  ServiceUnavailable,
  UrlExpired,
} from '../../../functions/workflow/errors.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import { type Copying, jsonOf, PART, startCopying } from '../../support/copying.ts';
import { type Cut, callCopy, Killed } from '../../support/copying-calls.ts';
import type { FileOptions, Turn } from '../../support/storage-host.ts';

const { body } = jsonOf(8 * PART + 17);
const changed = { body: jsonOf(5 * PART).body, etag: '"two"' };

/** Calls of SaveReport, at most. */
const CALLS_MAX = 12;

const ending = fc.constantFrom('reset' as const, 'close' as const, 'stall' as const);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ after: fc.nat(body.length), by: ending }),
  fc.record({ status: fc.constantFrom(302, 403, 404, 412, 416, 500, 503) }),
  fc.constant({}),
);
const file = fc.record({
  framing: fc.constantFrom('length' as const, 'chunked' as const, 'close' as const),
  etag: fc.constantFrom('"one"', '"one"', '"one"', 'W/"one"', null),
  ranges: fc.constantFrom(true, true, true, false),
  turns: fc.array(turn, { maxLength: 2 }),
  /** From this request on, the host serves another file. */
  changes: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});
const refusal = fc.constantFrom(
  'SlowDown',
  'InternalError',
  'AccessDenied',
  'NoSuchUpload',
  'reset',
  'BadDigest',
);
const fault = fc.oneof(
  fc.record({
    operation: fc.constant('UploadPart'),
    part: fc.integer({ min: 1, max: 9 }),
    answer: fc.oneof(refusal, fc.constantFrom('wrong checksum', 'lost answer')),
    times: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({
    operation: fc.constantFrom('CreateMultipartUpload', 'ListParts', 'AbortMultipartUpload'),
    answer: refusal,
  }),
  fc.record({
    operation: fc.constant('CompleteMultipartUpload'),
    answer: fc.oneof(refusal, fc.constantFrom('error inside 200', 'lost answer')),
  }),
) as fc.Arbitrary<Fault>;
const cut: fc.Arbitrary<Cut> = fc.record({
  after: fc.integer({ min: 1, max: body.length }),
  by: fc.constantFrom('time', 'kill'),
});
const scenario = fc.record({
  file,
  faults: fc.array(fault, { maxLength: 2 }),
  cuts: fc.array(cut, { maxLength: 3 }),
  format: fc.constantFrom('JSON', 'JSON', 'CSV'),
});

/** Calls the copy as the state machine calls SaveReport: again after a retryable failure, with the last checkpoint. */
async function save(copying: Copying, format: string, cuts: readonly Cut[]) {
  let checkpoint: CopyCheckpoint | undefined;
  let kills = 0;
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    try {
      const ended = await callCopy(copying, checkpoint, { part: PART, format, cut: cuts[calls] });
      if (!('upload_id' in ended)) return { copied: ended, kills };
      checkpoint = ended;
    } catch (error) {
      if (error instanceof Killed) kills += 1;
      else expect(error).toBeInstanceOf(ExportError);
      const isRetried = [Killed, CopyFailed, ServiceUnavailable, UrlExpired].some(
        (type) => error instanceof type,
      );
      if (!isRetried) break;
    }
  }
  if (checkpoint) await abortUpload(copying.destination, checkpoint.upload_id);
  return { copied: undefined, kills };
}

function expectWhole(copied: WrittenObject, object: Buffer | undefined): void {
  expect(object?.length).toBe(copied.bytes);
  expect(copied.crc32).toBe(base64Crc32(crc32(object ?? '')));
}

test('16–28: two faults in any order, kills and short calls leave the whole file or nothing', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ file: { changes, ...host }, faults, cuts, format }) => {
      const before = Array.from({ length: changes ?? 0 }, (_, at) => host.turns[at] ?? {});
      const after =
        changes === undefined ? host.turns : [...before, ...Array.from({ length: 99 }, () => changed)];
      const options = { ...host, body, turns: after } as FileOptions;
      await using copying = await startCopying(options, { faults: structuredClone(faults) });
      const { copied, kills } = await save(copying, format, cuts);
      const object = await copying.object();
      // The object may be visible although the answer of S3 was lost or wrong. It is complete in any case.
      if (object) expect(object.equals(body) || object.equals(changed.body)).toBe(true);
      // An upload stays only after a kill, or if S3 does not abort it, says that it is gone, or loses its id.
      const faulty = faults.filter(
        ({ operation, answer }) =>
          operation === 'AbortMultipartUpload' ||
          (operation === 'ListParts' && answer === 'NoSuchUpload') ||
          answer === 'lost answer',
      );
      expect(await copying.openUploads()).toBeLessThanOrEqual(kills + faulty.length);
      if (copied) expectWhole(copied, object);
    }),
    { numRuns: Number(process.env.RUNS ?? 150), seed: Number(process.env.SEED ?? 4) },
  );
});
