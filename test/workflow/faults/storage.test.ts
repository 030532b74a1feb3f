import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listen } from '../../support/listen.ts';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../../support/run-export.ts';
import { encodingOf, openUploads } from '../../support/workflow-objects.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

const MAX_BYTES = 12 * 1024 * 1024;

/** Two parts, so that a download can break off after the first one was stored. */
const LARGE = 9 * 1024 * 1024;
const SMALL = 50_000;

// Faults of the storage host of the download. Nothing here depends on the rows of the files of two parts.
const workflow = await shareWorkflow({
  settings: { MAX_DOWNLOAD_BYTES: String(MAX_BYTES), MAX_CURATE_BYTES: '5000000' },
});

async function download(bytes: number, conditions: Conditions): Promise<Outcome> {
  const outcome = await runExport(workflow, { ...conditions, sandbox: { report: { bytes } } });
  expect(await openUploads(workflow)).toBe(0);
  return outcome;
}

const FRAMINGS = ['length', 'chunked'] as const;

it.each(
  FRAMINGS.flatMap((framing) => [1, 3].map((times) => [times, framing] as const)),
)('16: a download that is reset %i times (framed by %s) is resumed by Range with If-Match', async (times, framing) => {
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
  FRAMINGS.flatMap((framing) => [SMALL, LARGE].map((size) => [size, framing] as const)),
)('17: a body of %i bytes that is cut short (framed by %s) is never visible', async (size, framing) => {
  const outcome = await download(size, { faults: [`storage cut_after=${size - 9_000} framing=${framing}`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage').length).toBeGreaterThanOrEqual(2);
  const written = outcome.s3.filter(
    ({ key, operation }) =>
      key === outcome.manifest?.key && /^(PutObject|CompleteMultipartUpload)$/.test(operation),
  );
  expect(written.map(({ status }) => status)).toEqual([200]);
});

it('17: a body framed by neither Content-Length nor chunks is refused, and tried again', async () => {
  const once = await download(SMALL, { faults: ['storage framing=close'] });
  expect(once.status).toBe('SUCCEEDED');
  expect(once.callsTo('storage')).toHaveLength(2);
  expectFailed(await download(SMALL, { faults: ['storage framing=close times=always'] }), 'CopyFailed');
});

it.each([
  ['changed between two ranges', ['storage reset_after=2000000', 'storage nth=2 changed']],
  ['has a weak ETag', ['storage reset_after=2000000', 'storage etag=weak times=always']],
  ['has no ETag', ['storage reset_after=2000000', 'storage etag=none times=always']],
  ['is served without ranges', ['storage reset_after=2000000', 'storage ignore_range times=always']],
  [
    'changed without a new ETag',
    ['storage reset_after=2000000 etag=none', 'storage nth=2 changed etag=none times=1'],
  ],
])('18: a file that %s is copied from its start by the same try', async (_, faults) => {
  const outcome = await download(LARGE, { faults });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(outcome.callsTo('report')).toHaveLength(2);
});

it.each(['weak', 'none'])('18: a download whose ETag is %s sends no Range', async (etag) => {
  const outcome = await download(LARGE, {
    faults: ['storage reset_after=2000000', `storage etag=${etag} times=always`],
  });
  expect(outcome.callsTo('storage').map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
});

it('18: a 206 of another file is not appended', async () => {
  const outcome = await download(LARGE, {
    faults: ['storage reset_after=2000000', 'storage nth=2 header.etag="another"'],
  });
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/), undefined]);
});

it('18: a page served as the rest of the file is not appended', async () => {
  const outcome = await download(SMALL, {
    faults: ['storage cut_after=3', 'storage nth=2 body="<html>Try again</html>"'],
  });
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, 'bytes=3-', undefined]);
});

describe('19: an expired URL', () => {
  it('19: is replaced by a new one of the same report', async () => {
    const outcome = await download(SMALL, { faults: ['storage status=403'] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    expect(outcome.callsTo('report')).toHaveLength(3);
    expect(new Set(outcome.callsTo('storage').map(({ query }) => query)).size).toBe(2);
  });

  it('19: in mid-body is replaced too', async () => {
    const outcome = await download(LARGE, {
      faults: ['storage reset_after=2000000', 'storage nth=2 status=403'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
  });

  it('19: brings one replacement report if the new URL is expired too', async () => {
    const outcome = await download(SMALL, { faults: ['storage status=403 times=2'] });
    expect(outcome.status).toBe('SUCCEEDED');
    const [first, second] = outcome.reports.map(({ id }) => id);
    expect(outcome.reports).toHaveLength(2);
    expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
  });

  it('19: is not fetched again if the token is refused on the way to the replacement (contract 2.3)', async () => {
    await forgetTokens(workflow);
    const outcome = await download(SMALL, {
      faults: ['storage status=403 times=2', 'create nth=2 status=401'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    const gets = outcome.reports.map(
      ({ id }) => outcome.callsTo('report').filter(({ reportId }) => reportId === id).length,
    );
    // First report: CheckReport, SaveReport, SaveReport with a new URL. Replacement: CheckReport, SaveReport.
    expect(gets).toEqual([3, 2]);
    expect(outcome.callsTo('storage').map(({ status }) => status)).toEqual([403, 403, 200]);
    expect(outcome.callsTo('token')).toHaveLength(2);
  });

  it('19: of every report fails the export after three reports with two URLs each', async () => {
    const outcome = await download(SMALL, { faults: ['storage status=403 times=always'] });
    expectFailed(outcome, 'ReportStuck');
    expect(outcome.reports).toHaveLength(3);
    expect(outcome.callsTo('storage')).toHaveLength(6);
  });
});

it.each([404, 500, 503])('20: a %i is retried with a new URL, five times at most', async (status) => {
  const passing = await download(SMALL, { faults: [`storage status=${status} times=2`] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(new Set(passing.callsTo('storage').map(({ query }) => query)).size).toBe(3);
  const outcome = await download(SMALL, { faults: [`storage status=${status} times=always`] });
  expectFailed(outcome, 'CopyFailed');
  expect(outcome.callsTo('storage')).toHaveLength(5);
  expect(outcome.reports).toHaveLength(1);
});

describe('21: a URL', () => {
  it.each([301, 302, 303, 307, 308])('21: that redirects (%i) is not followed', async (status) => {
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
    ['private, written as IPv6', 'https://[::ffff:10.0.0.1]/r'],
    ['the metadata service', 'https://169.254.169.254/latest/meta-data'],
    ['http', 'http://93.184.216.34/r'],
    ['of another scheme', 'ftp://93.184.216.34/r'],
  ])('21: that is %s (%s) is refused before any request', async (_, url) => {
    const set = { download_url: `${url}?signature=sbx_sig_planted` };
    const outcome = await download(SMALL, { faults: [{ on: 'report', times: 99, set }] });
    expectFailed(outcome, 'DownloadRefused');
    expect(outcome.callsTo('report')).toHaveLength(2);
  });

  it('21: with userinfo is refused before any request', async () => {
    await using storage = await listen((_, response) => response.end('[]'));
    const download_url = `${storage.url.replace('//', '//canary-user:canary-password@')}/r`;
    const outcome = await download(SMALL, {
      faults: [{ on: 'report', times: 99, set: { download_url } }],
      canaries: ['canary-user', 'canary-password'],
    });
    expectFailed(outcome, 'DownloadRefused');
    expect(storage.requests).toEqual([]);
  });
});

it('22: an endless body is stopped at the limit, and the upload is aborted', async () => {
  const outcome = await download(SMALL, { faults: ['storage endless times=always'] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
  expect(outcome.s3.map(({ operation }) => operation)).toContain('AbortMultipartUpload');
  expect(outcome.callsTo('storage')[0]?.bytes).toBeLessThan(3 * MAX_BYTES);
});

it('22: a file announced as larger than the limit is refused before its first byte is stored', async () => {
  const outcome = await download(MAX_BYTES + 1, {});
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
  expect(outcome.s3.map(({ key }) => key)).not.toContainEqual(expect.stringContaining('report.json'));
});

it('23: an empty array is delivered with 0 rows, and manifest and event call it empty', async () => {
  const outcome = await download(SMALL, { faults: ['storage body="[]"'] });
  expect(String(outcome.object)).toBe('[]');
  expect(outcome.manifest).toMatchObject({ rows: 0, bytes: 2, empty: true });
  expect(outcome.output).toMatchObject({ rows: 0, bytes: 2, empty: true, windows: [{ rows: 0 }] });
});

it.each([
  ['is empty', ''],
  ['is blank', ' \n'],
  ['is a page', '<html>sbx_sig_planted</html>'],
  ['is text', 'no rows'],
  ['ends in the middle', '[{"spend":1},'],
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

it('24: gzip without a label is stored as it came, and its rows are read', async () => {
  const fault = 'storage gzip=right header.content-encoding=identity times=always';
  const { output, manifest, object } = await download(SMALL, { faults: [fault] });
  expect(output).toMatchObject({ rows: expect.any(Number) });
  expect(manifest).not.toHaveProperty('content_encoding');
  expect(gunzipSync(object ?? '').toString('latin1', 0, 1)).toBe('[');
});

it.each([
  ['a body that is not gzip', 'gzip=wrong'],
  ['an unknown encoding', 'header.content-encoding=zstd'],
])('24: %s is refused', async (_, fault) => {
  const outcome = await download(SMALL, { faults: [`storage ${fault} times=always`] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.callsTo('storage')).toHaveLength(1);
});
