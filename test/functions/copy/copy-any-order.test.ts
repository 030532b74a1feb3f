import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Unfinished } from '../../../functions/copy/attempt.ts';
import type { Copied } from '../../../functions/copy/copy.ts';
import { divide, joinRanges, type Range, VOID } from '../../../functions/copy/copy-range.ts';
import { abortUpload, createUpload } from '../../../functions/copy/upload.ts';
import {
  CopyFailed,
  ExportError,
  ServiceUnavailable,
  UrlExpired,
} from '../../../functions/workflow/errors.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import { type Copying, jsonOf, openCopying, PART } from '../../support/copying.ts';
import { type Cut, callCopy, callRange, handOn, Killed } from '../../support/copying-calls.ts';
import type { FileOptions, Turn } from '../../support/storage-host.ts';

const { body, rows } = jsonOf(8 * PART + 17);
const changed = { body: jsonOf(5 * PART).body, etag: '"two"' };
const size = () => PART;

/** How often the state machine calls a step before it gives up; every scenario's faults are over by then, or never. */
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
  /** From this request on it is another file. */
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
  count: fc.constantFrom(1, 1, 2, 3),
  streamed: fc.boolean(),
});

/** What happens to the calls, one after another, and how many were killed. */
interface Plan {
  readonly streamed: boolean;
  readonly cuts: Cut[];
  kills: number;
}

type Ended = Copied | { bytes: number; rows?: number } | 'gave up';

/** As SaveReport is called: again after what passes, with what the call before it left, or as it stood. */
async function saveAsOne(copying: Copying, plan: Plan): Promise<Ended> {
  let left: Unfinished | undefined;
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    const ended = await once(plan, (cut) =>
      callCopy(copying, left, { part: PART, streamed: plan.streamed, cut }),
    );
    if (ended === 'again') continue;
    if (ended === 'final') break;
    if (!('uploadId' in ended)) return ended;
    left = handOn(ended);
  }
  if (left) await abortUpload(copying.destination, { id: left.uploadId });
  return 'gave up';
}

/** As SaveRange and JoinRanges are; what they cannot do is begun again as one. */
async function saveInRanges(copying: Copying, plan: Plan, count: number): Promise<Ended> {
  const { destination } = copying;
  const created = await createUpload(destination, { contentType: 'application/json' }).catch(() => undefined);
  if (created === undefined) return saveAsOne(copying, plan);
  const head = { contentType: 'application/json', contentEncoding: undefined, ignoresRanges: false };
  const divided = { uploadId: created.id, file: { ...head, etag: '"one"', bytes: body.length } };
  const copyAll = async (range: Range): Promise<Range | undefined> => {
    for (let calls = 0; calls < CALLS_MAX && range.at < range.to; calls++) {
      const came = await once(plan, (cut) =>
        callRange(copying, divided, range, { part: PART, streamed: plan.streamed, cut }),
      );
      if (came === VOID || came === 'final') return undefined;
      if (came !== 'again') range = handOn({ ...range, ...came });
    }
    return range.at === range.to ? range : undefined;
  };
  const ranges = await Promise.all(divide(body.length, count, { size, streamed: false }).map(copyAll));
  const whole = ranges.filter((range) => range !== undefined);
  if (whole.length === ranges.length) {
    const joined = await once(plan, () => joinRanges(divided, whole, { destination, format: 'JSON', size }));
    if (typeof joined !== 'string') return joined;
  }
  await abortUpload(destination, created);
  return saveAsOne(copying, plan);
}

/** One call; `again` where the state machine would repeat it with the state that it had, `final` where it would not. */
async function once<T>(
  plan: Plan,
  call: (cut: Cut | undefined) => Promise<T>,
): Promise<T | 'again' | 'final'> {
  try {
    return await call(plan.cuts.shift());
  } catch (error) {
    if (error instanceof Killed) plan.kills += 1;
    else expect(error).toBeInstanceOf(ExportError);
    const passes = [Killed, CopyFailed, ServiceUnavailable, UrlExpired].some((type) => error instanceof type);
    return passes ? 'again' : 'final';
  }
}

test('16–28: any two faults in any order, kills, calls that end too soon and ranges: the whole file or nothing', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ file: { changes, ...host }, faults, cuts, count, streamed }) => {
      const before = Array.from({ length: changes ?? 0 }, (_, at) => host.turns[at] ?? {});
      const after =
        changes === undefined ? host.turns : [...before, ...Array.from({ length: 99 }, () => changed)];
      const options = { ...host, body, turns: after } as FileOptions;
      await using copying = await openCopying(options, { faults: structuredClone(faults) });
      const plan: Plan = { streamed, cuts: [...cuts], kills: 0 };
      const ended = await (count === 1 ? saveAsOne(copying, plan) : saveInRanges(copying, plan, count));
      const object = await copying.object();
      if (object) expect(object.equals(body) || object.equals(changed.body)).toBe(true);
      // Only a kill leaves an upload, or an S3 that will not give it up, or says that it is gone.
      const refused = faults.filter(
        ({ operation, answer }) =>
          operation === 'AbortMultipartUpload' || (operation === 'ListParts' && answer === 'NoSuchUpload'),
      );
      expect(await copying.openUploads()).toBeLessThanOrEqual(plan.kills + refused.length);
      if (ended === 'gave up') return;
      expect(object?.length).toBe(ended.bytes);
      if (ended.bytes === body.length) expect(ended.rows).toBe(rows);
    }),
    { numRuns: Number(process.env.RUNS ?? 100), seed: 4 },
  );
});
