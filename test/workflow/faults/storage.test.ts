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

/** Two parts. A download breaks off after the first one was stored. */
const LARGE = 11 * 1024 * 1024 + 500_000;
const BREAKS = `storage cut_after=${11 * 1024 * 1024}`;
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

it('16: a download that breaks off is resumed by the next call', async () => {
  const outcome = await download(LARGE, { faults: [BREAKS] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second, ...others] = outcome.callsTo('storage').map(({ headers }) => headers);
  expect([first?.range, others]).toEqual([undefined, []]);
  expect(second).toMatchObject({ range: `bytes=${8 * 1024 * 1024}-`, 'if-match': expect.any(String) });
  expect(outcome.callsTo('report')).toHaveLength(3);
});

it('16: a download that is reset three times before its first part starts again with a new URL', async () => {
  const outcome = await download(LARGE, { faults: ['storage reset_after=2000000 times=3'] });
  expect(outcome.status).toBe('SUCCEEDED');
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, undefined, undefined, undefined]);
});

it('17: a body that is cut short is never visible', async () => {
  const outcome = await download(SMALL, { faults: [`storage cut_after=${SMALL - 9_000}`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage')).toHaveLength(2);
  const written = outcome.s3.filter(
    ({ key, operation }) =>
      key === outcome.manifest?.key && /^(PutObject|CompleteMultipartUpload)$/.test(operation),
  );
  expect(written.map(({ status }) => status)).toEqual([200]);
});

it('17: a body framed by neither Content-Length nor chunks is refused, and tried again', async () => {
  const outcome = await download(SMALL, { faults: ['storage framing=close'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage')).toHaveLength(2);
});

it('18: a file that changed between two ranges is copied from its start', async () => {
  const outcome = await download(LARGE, { faults: [BREAKS, 'storage nth=2 changed'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect([ranges.length, ranges.at(-1)]).toEqual([3, undefined]);
});

describe('19: an expired URL', () => {
  it('19: is replaced by a new one of the same report', async () => {
    const outcome = await download(SMALL, { faults: ['storage status=403'] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    expect(outcome.callsTo('report')).toHaveLength(3);
    expect(new Set(outcome.callsTo('storage').map(({ query }) => query)).size).toBe(2);
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

it.each([404, 503])('20: a %i is retried with a new URL, five times at most', async (status) => {
  const passing = await download(SMALL, { faults: [`storage status=${status} times=2`] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(new Set(passing.callsTo('storage').map(({ query }) => query)).size).toBe(3);
  const outcome = await download(SMALL, { faults: [`storage status=${status} times=always`] });
  expectFailed(outcome, 'CopyFailed');
  expect(outcome.callsTo('storage')).toHaveLength(5);
  expect(outcome.reports).toHaveLength(1);
});

describe('21: a URL', () => {
  it('21: that redirects is not followed', async () => {
    await using other = await listen((_, response) => response.end('[]'));
    const outcome = await download(SMALL, {
      faults: [`storage status=302 header.location=${other.url}/ times=always`],
    });
    expectFailed(outcome, 'DownloadRefused');
    expect(outcome.callsTo('storage')).toHaveLength(1);
    expect(other.requests).toEqual([]);
  });

  it('21: of the metadata service is refused before any request', async () => {
    const set = { download_url: 'https://169.254.169.254/latest/meta-data?signature=sbx_sig_planted' };
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

it('23: a file that ends in the middle is copied, but not delivered', async () => {
  const outcome = await download(SMALL, { faults: [{ on: 'storage', times: 99, body: '[{"spend":1},' }] });
  expectUndelivered(outcome);
  expect(outcome.object).toBeDefined();
});

/** CurateReport finds some faults after the file was copied. Without a manifest, it is not delivered. */
function expectUndelivered(outcome: Outcome): void {
  expect([outcome.status, outcome.error, outcome.manifest]).toEqual(['FAILED', 'DownloadRefused', undefined]);
  expect(outcome.callsTo('storage')).toHaveLength(1);
}

it('24: gzip is stored as it came, and labelled', async () => {
  const outcome = await download(LARGE, { faults: ['storage gzip=right times=always'] });
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

it('24: a body that is not gzip, as its label says, is refused', async () => {
  expectUndelivered(await download(SMALL, { faults: ['storage gzip=wrong times=always'] }));
});
