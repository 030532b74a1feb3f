import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { listen } from '../../support/listen.ts';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../../support/run-export.ts';
import { encodingOf, openUploads } from '../../support/workflow-objects.ts';

const MAX_BYTES = 12 * 1024 * 1024;

/** More than one part, so that a break can come after the first one has been stored. */
const LARGE = 9 * 1024 * 1024;
const SMALL = 50_000;

let bytes = SMALL;

// What the storage host of the download does. The first GET of a report is CheckReport's, the second SaveReport's.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: () => bytes },
  },
  settings: { MAX_DOWNLOAD_BYTES: String(MAX_BYTES) },
});

async function download(size: number, day: Conditions): Promise<Outcome> {
  bytes = size;
  const outcome = await runExport(workflow, day);
  expect(await openUploads(workflow)).toBe(0);
  return outcome;
}

const FRAMINGS = ['length', 'chunked', 'close'] as const;

it.each(
  FRAMINGS.flatMap((framing) => [['once', 1, framing] as const, ['thrice', 3, framing] as const]),
)('16: reset %s in mid-body (%i times, ends by %s), a download goes on by Range with If-Match', async (_, times, framing) => {
  const outcome = await download(LARGE, {
    faults: [`storage reset_after=2000000 times=${times}`, `storage framing=${framing} times=always`],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, ...others] = outcome.callsTo('storage').map(({ headers }) => headers);
  expect(others).toHaveLength(times);
  expect(first).not.toHaveProperty('range');
  for (const headers of others) {
    expect(headers).toMatchObject({
      range: expect.stringMatching(/^bytes=\d+-/),
      'if-match': expect.any(String),
    });
  }
});

it.each(
  FRAMINGS.flatMap((framing) => [[SMALL, framing] as const, [LARGE, framing] as const]),
)('17: a body of %i bytes that is cut short (%s) is not taken for the whole', async (size, framing) => {
  const outcome = await download(size, {
    faults: [`storage cut_after=${size - 9_000} framing=${framing}`],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage').length).toBeGreaterThanOrEqual(2);
  const key = String(outcome.manifest?.key);
  const visible = outcome.s3.filter(
    (entry) => entry.key === key && /^(PutObject|CompleteMultipartUpload)$/.test(entry.operation),
  );
  expect(visible.map(({ status }) => status)).toEqual([200]);
});

it.each([
  ['changed between two ranges', ['storage reset_after=2000000', 'storage nth=2 changed']],
  ['has a weak ETag', ['storage reset_after=2000000', 'storage etag=weak times=always']],
  ['has no ETag', ['storage reset_after=2000000', 'storage etag=none times=always']],
  ['is served without ranges', ['storage reset_after=2000000', 'storage ignore_range times=always']],
  [
    'changed, and nobody says so',
    ['storage reset_after=2000000 etag=none', 'storage nth=2 changed etag=none times=1'],
  ],
])('18: a file that %s is begun again, never mixed', async (_, faults) => {
  const outcome = await download(LARGE, { faults });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  // At once, and not by another try of SaveReport.
  expect(outcome.callsTo('report')).toHaveLength(2);
});

it.each(['weak', 'none'])('18: no range is asked for by an ETag that is %s', async (etag) => {
  const outcome = await download(LARGE, {
    faults: ['storage reset_after=2000000', `storage etag=${etag} times=always`],
  });
  expect(outcome.callsTo('storage').map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
});

it('18: a range of another file, whatever was asked for by If-Match, is not put behind what is there', async () => {
  const outcome = await download(LARGE, {
    faults: ['storage reset_after=2000000', 'storage nth=2 header.etag="another"'],
  });
  const [, resumed, again] = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(resumed).toMatch(/^bytes=\d+-$/);
  expect(again).toBeUndefined();
  expect(outcome.callsTo('storage')).toHaveLength(3);
});

it('18: a page that comes as if it were the rest of the file is not put behind what is there', async () => {
  const outcome = await download(SMALL, {
    faults: ['storage cut_after=3 framing=close', 'storage nth=2 body="<html>Try again</html>"'],
  });
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, 'bytes=3-', undefined]);
});

it('19: a URL that is expired is replaced by a fresh one, through a new GET', async () => {
  const outcome = await download(SMALL, { faults: ['storage status=403'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(outcome.callsTo('report')).toHaveLength(3);
  const urls = outcome.callsTo('storage').map(({ query }) => query);
  expect(new Set(urls).size).toBe(2);
});

it('19: where the fresh URL is expired too, one replacement report is created', async () => {
  const outcome = await download(SMALL, { faults: ['storage status=403 times=2'] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it('19: a URL that expires in mid-body is replaced as well', async () => {
  const outcome = await download(LARGE, {
    faults: ['storage reset_after=2000000', 'storage nth=2 status=403'],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
});

it('19: where every URL is expired, the export fails after three reports, two URLs each', async () => {
  const outcome = await download(SMALL, { faults: ['storage status=403 times=always'] });
  expectFailed(outcome, 'ReportStuck');
  expect(outcome.reports).toHaveLength(3);
  expect(outcome.callsTo('storage')).toHaveLength(6);
});

it.each([404, 500, 503])('20: a %i is tried again with a fresh URL, five times at most', async (status) => {
  const passing = await download(SMALL, { faults: [`storage status=${status} times=2`] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(new Set(passing.callsTo('storage').map(({ query }) => query)).size).toBe(3);
  const outcome = await download(SMALL, { faults: [`storage status=${status} times=always`] });
  expectFailed(outcome, 'CopyFailed');
  expect(outcome.callsTo('storage')).toHaveLength(5);
  expect(outcome.reports).toHaveLength(1);
});

it.each([301, 302, 303, 307, 308])('21: a redirect (%i) is not followed', async (status) => {
  await using other = await listen((_, response) => response.end('[]'));
  const outcome = await download(SMALL, {
    faults: [`storage status=${status} header.location=${other.url}/ times=always`],
  });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
  expect(other.requests).toEqual([]);
});

it.each([
  ['private', 'https://10.1.2.3/r'],
  ['private', 'https://192.168.0.1/r'],
  ['private in IPv6', 'https://[fd00::1]/r'],
  ['private in the disguise of IPv6', 'https://[::ffff:10.0.0.1]/r'],
  ['the metadata of the machine', 'https://169.254.169.254/latest/meta-data'],
  ['http', 'http://93.184.216.34/r'],
  ['of another scheme', 'ftp://93.184.216.34/r'],
])('21: a URL that is %s (%s) is refused before any request', async (_, url) => {
  const set = { download_url: `${url}?signature=sbx_sig_planted` };
  const outcome = await download(SMALL, { faults: [{ on: 'report', times: 99, set }] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('report')).toHaveLength(2);
});

it('21: a URL with userinfo is refused before any request', async () => {
  await using storage = await listen((_, response) => response.end('[]'));
  const download_url = `${storage.url.replace('//', '//canary-user:canary-password@')}/r`;
  const outcome = await download(SMALL, {
    faults: [{ on: 'report', times: 99, set: { download_url } }],
    canaries: ['canary-user', 'canary-password'],
  });
  expectFailed(outcome, 'DownloadRefused');
  expect(storage.requests).toEqual([]);
});

it('22: an endless body is stopped at the cap, and the upload aborted', async () => {
  const outcome = await download(SMALL, { faults: ['storage endless times=always'] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
  expect(outcome.s3.map(({ operation }) => operation)).toContain('AbortMultipartUpload');
  expect(outcome.callsTo('storage')[0]?.bytes).toBeLessThan(3 * MAX_BYTES);
});

it('22: a file that is announced to be larger than the cap is refused before its first byte is stored', async () => {
  const outcome = await download(MAX_BYTES + 1, {});
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
  expect(outcome.s3.map(({ key }) => key)).not.toContainEqual(expect.stringContaining('report.json'));
});

it('23: an empty array is delivered with 0 rows, and says so', async () => {
  const outcome = await download(SMALL, { faults: ['storage body="[]"'] });
  expect(outcome.output).toMatchObject({ rows: 0, bytes: 2 });
  expect(outcome.manifest).toMatchObject({ rows: 0, bytes: 2 });
  expect(String(outcome.object)).toBe('[]');
});

it.each([
  ['is empty', ''],
  ['is blank', ' \n'],
  ['is a page', '<html>sbx_sig_planted</html>'],
  ['is text', 'no rows'],
  ['ends in the middle', '[{"spend":1},'],
  ['goes on after its end', '[]]'],
  ['closes another bracket', '[{"spend":1]'],
])('23: a file that %s is not delivered', async (_, body) => {
  const outcome = await download(SMALL, { faults: [{ on: 'storage', times: 99, body }] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
});

it.each([SMALL, LARGE])('24: gzip (of %i bytes) is stored as it came, and labelled', async (size) => {
  const outcome = await download(size, { faults: ['storage gzip=right times=always'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.manifest).toMatchObject({ content_encoding: 'gzip', rows: expect.any(Number) });
  expect(await encodingOf(workflow, String(outcome.manifest?.key))).toBe('gzip');
  const report = workflow.sandbox.expected(outcome.reports[0]?.id ?? '');
  expect(gunzipSync(outcome.object ?? '').length).toBe(report.length);
});

it.each([
  ['gzip that is none', 'gzip=wrong'],
  ['an encoding that is unknown', 'header.content-encoding=zstd'],
])('24: %s is refused', async (_, fault) => {
  const outcome = await download(SMALL, { faults: [`storage ${fault} times=always`] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
});
