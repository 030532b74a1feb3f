import { expect, it } from 'vitest';
import {
  type Conditions,
  deliver,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../../support/run-export.ts';
import { countUploads } from '../../support/s3.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

const MiB = 1024 * 1024;

// The state machine after a fault of the storage host of the download. test/functions/copy judges which
// answers of the host become which error. Nothing here depends on the rows of the file of two parts.
const workflow = await shareWorkflow({ settings: { MAX_CURATE_BYTES: '5000000' } });

/** Bytes of a row. */
const ROW = 39;

async function download(bytes: number, conditions: Conditions, run = deliver): Promise<Outcome> {
  const report = { rows: Math.ceil(bytes / ROW) };
  const outcome = await run(workflow, { ...conditions, sandbox: { report } });
  expect(await countUploads(workflow.out, workflow.bucket)).toBe(0);
  return outcome;
}

it('16, 17, 20: a download that leaves no part is repeated with a new URL', async () => {
  const faults = [
    ...['storage reset_after=20000', 'storage nth=2 cut_after=20000'],
    ...['storage nth=3 framing=close', 'storage nth=4 status=503'],
  ];
  const outcome = await download(50_000, { faults });
  const downloads = outcome.callsTo('storage');
  expect(downloads.map(({ headers }) => headers.range)).toEqual(Array(5).fill(undefined));
  expect(new Set(downloads.map(({ query }) => query)).size).toBe(5);
  // The body that was cut was never visible.
  const stored = outcome.s3.filter(({ key, method }) => key === outcome.manifest?.key && method === 'PUT');
  expect(stored.map(({ status }) => status)).toEqual([200]);
});

it('20: a download that always fails is given up after five tries of one report', async () => {
  const endless = await download(50_000, { faults: ['storage status=404 times=always'] }, runExport);
  expectFailed(endless, 'CopyFailed');
  expect(endless.callsTo('storage')).toHaveLength(5);
  expect(endless.reports).toHaveLength(1);
});

it('16, 18: a download that breaks off is resumed, and starts again if the file has changed since', async () => {
  const faults = [`storage cut_after=${11 * MiB}`, 'storage nth=2 changed'];
  const outcome = await download(11 * MiB + 500_000, { faults });
  expect(outcome.reports).toHaveLength(1);
  const downloads = outcome.callsTo('storage').map(({ headers }) => headers);
  expect(downloads.map(({ range }) => range)).toEqual([undefined, `bytes=${8 * MiB}-`, undefined]);
  expect(downloads[1]).toMatchObject({ 'if-match': expect.any(String) });
});

it('19: an expired URL is replaced, and then the report, also after a refused token (contract 2.3)', async () => {
  await forgetTokens(workflow);
  const outcome = await download(50_000, {
    faults: ['storage status=403 times=2', 'create nth=2 status=401'],
  });
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
  const gets = outcome.reports.map(
    ({ id }) => outcome.callsTo('report').filter(({ reportId }) => reportId === id).length,
  );
  // First report: CheckReport, SaveReport, SaveReport with a new URL. Replacement: CheckReport, SaveReport.
  expect(gets).toEqual([3, 2]);
  expect(outcome.callsTo('storage').map(({ status }) => status)).toEqual([403, 403, 200]);
  expect(new Set(outcome.callsTo('storage').map(({ query }) => query)).size).toBe(3);
  expect(outcome.callsTo('token')).toHaveLength(2);
});
