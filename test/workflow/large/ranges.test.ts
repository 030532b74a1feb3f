import { expect, it } from 'vitest';
import {
  type Day,
  forgetTokens,
  type Outcome,
  openUploads,
  shareWorkflow,
  spend,
} from '../../support/bad-day.ts';

const MiB = 1024 * 1024;

// 24 MiB are three parts, of which each becomes a range. The storage host is asked for the whole, for the proof that it
// serves ranges, and then for the three of them.
const workflow = await shareWorkflow({
  // A turn of 5 s is 200 ms of the machine's.
  speed: 25,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: 24 * MiB },
  },
  config: { parallel_above_bytes: 16 * MiB },
});

/** Holds 10 s between two GETs of the report, and that the source's bytes arrive (see bad-day.ts). */
async function download(day: Day): Promise<Outcome> {
  const outcome = await spend(workflow, day);
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await openUploads(workflow)).toBe(0);
  return outcome;
}

/** The ranges that the storage host was asked for, by their first bytes; the proof is left out. */
function rangesIn(outcome: Outcome): (number | undefined)[] {
  const asked = outcome
    .to('storage')
    .map(({ headers }) => /^bytes=(\d+)-(?!0$)/.exec(headers.range ?? '')?.[1]);
  return asked
    .flatMap((from) => from ?? [])
    .map(Number)
    .sort((one, other) => one - other);
}

it('P3: a large file arrives in ranges, whose GETs of the report are 10 s apart', async () => {
  const outcome = await download({});
  expect(rangesIn(outcome)).toEqual([0, 8 * MiB, 16 * MiB]);
  expect(outcome.to('report').length).toBeGreaterThanOrEqual(5);
  expect(outcome.s3.filter(({ operation }) => operation === 'UploadPart')).toHaveLength(3);
  expect(outcome.manifest?.rows).toBe(workflow.sandbox.expected(String(outcome.manifest?.report_id)).rows);
});

it('16: a reset in the middle of a range is taken up where it broke', async () => {
  const outcome = await download({ faults: ['storage nth=4 reset_after=3000000'] });
  expect(rangesIn(outcome)).toHaveLength(4);
});

it('20: a range that fails in its turn is copied in its next one, and the others once', async () => {
  const outcome = await download({ faults: ['storage nth=3 times=6 status=503'] });
  expect(outcome.s3.filter(({ operation }) => operation === 'UploadPart')).toHaveLength(3);
});

it('19: a URL that is refused to a range is fetched again in its next turn', async () => {
  const outcome = await download({ faults: ['storage nth=3 status=403'] });
  expect(outcome.reports).toHaveLength(1);
  expect(rangesIn(outcome)).toHaveLength(4);
});

it('19: where a fresh URL is refused too, one replacement is created, and the upload given up', async () => {
  const outcome = await download({ faults: ['storage nth=3 times=6 status=403'] });
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.s3.filter(({ operation }) => operation === 'AbortMultipartUpload')).toHaveLength(1);
});

it('18: an object that changes between two ranges is begun again as one', async () => {
  const outcome = await download({ faults: ['storage nth=4 changed'] });
  expect(outcome.s3.filter(({ operation }) => operation === 'CreateMultipartUpload')).toHaveLength(2);
  expect(outcome.s3.filter(({ operation }) => operation === 'AbortMultipartUpload')).toHaveLength(1);
});

it.each([
  ['ignores Range', 'storage ignore_range times=always'],
  ['has a weak ETag', 'storage etag=weak times=always'],
  ['names no length', 'storage framing=chunked times=always'],
])('18: a host that %s is not divided', async (_, fault) => {
  const outcome = await download({ faults: [fault] });
  expect(outcome.to('storage').length).toBeLessThanOrEqual(3);
  expect(outcome.s3.filter(({ operation }) => operation === 'CreateMultipartUpload')).toHaveLength(1);
});

it('1: a token that is refused to the ranges is renewed once, and what is missing goes on', async () => {
  await forgetTokens(workflow);
  const outcome = await download({ faults: ['report nth=4 revoke'] });
  expect(outcome.to('token')).toHaveLength(2);
});

it('28: a range whose function is killed goes on in its next turn', async () => {
  const stored = () => workflow.s3.journal.filter(({ operation }) => operation === 'UploadPart').length;
  const before = stored();
  const meanwhile = async () => {
    await expect.poll(stored, { interval: 2 }).toBe(before + 2);
    await workflow.functionOf('SaveRange').kill();
  };
  await download({ faults: ['storage nth=3 stall_after=1000000'], meanwhile });
});

it('25: an S3 that refuses parts for a while costs a turn', async () => {
  await download({ s3: [{ operation: 'UploadPart', part: 2, answer: 'SlowDown', times: 7 }] });
});

it('26: a checksum that differs in the end has the file begun again as one', async () => {
  const outcome = await download({ s3: [{ operation: 'CompleteMultipartUpload', answer: 'BadDigest' }] });
  expect(outcome.s3.filter(({ operation }) => operation === 'AbortMultipartUpload')).toHaveLength(1);
});
