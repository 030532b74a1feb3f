import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { ExportError } from '../../../functions/workflow/errors.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import { copyOnce, jsonOf, PART } from '../../support/copying.ts';
import type { FileOptions, Turn } from '../../support/storage-host.ts';

const { body, rows } = jsonOf(7 * PART + 17);
const changed = { body: jsonOf(4 * PART).body, etag: '"two"' };

const ending = fc.constantFrom('reset' as const, 'close' as const, 'stall' as const);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ after: fc.nat(body.length), by: ending }),
  fc.record({ status: fc.constantFrom(302, 403, 404, 412, 416, 500, 503) }),
  fc.constant(changed),
);
const file = fc.record({
  framing: fc.constantFrom('length' as const, 'chunked' as const, 'close' as const),
  etag: fc.constantFrom('"one"', 'W/"one"', null),
  ranges: fc.boolean(),
  turns: fc.array(turn, { maxLength: 3 }),
});
const refusal = fc.constantFrom(
  'SlowDown',
  'InternalError',
  'AccessDenied',
  'NoSuchUpload',
  'reset',
  'BadDigest',
);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    operation: fc.constantFrom('UploadPart'),
    part: fc.integer({ min: 1, max: 8 }),
    answer: fc.oneof(refusal, fc.constantFrom('wrong checksum', 'lost answer')),
    times: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({ operation: fc.constantFrom('CreateMultipartUpload'), answer: refusal }),
  fc.record({
    operation: fc.constantFrom('CompleteMultipartUpload'),
    answer: fc.oneof(refusal, fc.constantFrom('error inside 200', 'wrong checksum', 'lost answer')),
  }),
) as fc.Arbitrary<Fault>;

/** What nothing looks into has no closing bracket that would tell that it was cut short. */
const format = fc.constantFrom('JSON', 'CSV');

test('whatever goes wrong, in any order: all of the file and its checksum, or a typed error and nothing', async () => {
  await fc.assert(
    fc.asyncProperty(file, fc.array(fault, { maxLength: 2 }), format, async (host, faults, format) => {
      const timeouts = { idle: 150, headers: 500 };
      const options = { s3: { faults: structuredClone(faults) }, source: { timeouts }, tries: 2, format };
      const { copied, error, object, openUploads } = await copyOnce(
        { ...host, body } as FileOptions,
        options,
      );
      // What S3 has shown is whole in any case: its answer alone may be lost or wrong.
      if (object) expect(object.equals(body) || object.equals(changed.body)).toBe(true);
      expect(openUploads).toBe(0);
      if (copied === undefined) {
        expect(error).toBeInstanceOf(ExportError);
        const answered = faults.some(({ answer }) => answer === 'wrong checksum' || answer === 'lost answer');
        if (!answered) expect(object).toBeUndefined();
        return;
      }
      expect(object?.length).toBe(copied.bytes);
      expect(copied.checksum.value).toBe(base64Crc32(crc32(object ?? '')));
      if (copied.bytes === body.length) expect(copied.rows).toBe(format === 'JSON' ? rows : undefined);
    }),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
});
