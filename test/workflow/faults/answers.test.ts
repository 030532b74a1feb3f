import { expect, it } from 'vitest';
import { expectFailed, gapsIn, runExport, shareWorkflow } from '../../support/run-export.ts';

// Answers of the platform's API that are lost, cannot be read, or lead nowhere. A report is READY when it is first looked
// at: the first GET is CheckReport's, the second SaveReport's.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
});

it.each([
  ['resets the connection', 'reset=after'],
  ['is a 502', 'status=502 processed'],
  ['is a 504', 'status=504 processed'],
])('10: where the answer to POST /reports %s, a second report is created at most, and one is delivered', async (_, fault) => {
  const once = await runExport(workflow, { faults: [`create ${fault}`] });
  expect(once.status).toBe('SUCCEEDED');
  expect(once.reports).toHaveLength(2);
  expect(once.manifest?.report_id).toBe(once.reports[1]?.id);
  const always = await runExport(workflow, { faults: [`create ${fault} times=always`] });
  expectFailed(always, 'AnswerLost');
  expect(always.reports).toHaveLength(2);
});

const UNREADABLE = [
  ['HTML', 'body="<html>Bad gateway</html>"'],
  ['an empty body', 'body=""'],
  ['broken JSON', 'body="{\\"id\\":"'],
  ['a list', 'body="[]"'],
  ['a record without id', 'omit=id'],
  ['a record without status', 'omit=status'],
] as const;

it.each([
  ...UNREADABLE.map(([what, fault]) => ['POST', what, `create ${fault}`] as const),
  ['POST', '200 for 201', 'create status=200'] as const,
  ...UNREADABLE.map(([what, fault]) => ['GET', what, `report ${fault}`] as const),
  ['GET', 'another report', 'report set.id=other'] as const,
  ['GET', '204 for 200', 'report status=204'] as const,
])('11: a %s answered with %s is tried again once', async (_, __, fault) => {
  expect((await runExport(workflow, { faults: [fault] })).status).toBe('SUCCEEDED');
  const outcome = await runExport(workflow, { faults: [`${fault} times=always`] });
  expectFailed(outcome, 'AnswerUnreadable');
  expect(outcome.calls.filter(({ endpoint }) => fault.startsWith(endpoint))).toHaveLength(2);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

it('11: an error envelope with fields missing is still decided by its status, with request_id absent', async () => {
  const bare = 'omit=error.type,error.message,error.status,error.request_id,error.doc_url times=always';
  const outcome = await runExport(workflow, { faults: [`create status=422 ${bare}`] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.to('create')).toHaveLength(1);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

it.each([
  ['13', 'not there', 'status=404'],
  ['14', 'of a status that the contract does not name', 'set.status=QUEUED omit=download_url'],
  ['15', 'READY without a URL', 'omit=download_url'],
  ['15', 'READY with no URL', 'set.download_url="not a URL"'],
  ['15', 'READY with an empty URL', 'set.download_url=""'],
])('%s: a report that is %s once is asked for once more', async (_, __, fault) => {
  for (const nth of [1, 2]) {
    const outcome = await runExport(workflow, { faults: [`report nth=${nth} ${fault}`] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    // At SaveReport's, the report has to be found READY once more.
    expect(gapsIn(outcome)).toHaveLength(2 + nth);
  }
});

it.each([
  ['13', 'not there twice', 'status=404'],
  ['15', 'READY without a URL twice', 'omit=download_url'],
  ['15', 'READY with no URL twice', 'set.download_url="not a URL"'],
])('%s: a report that is %s is replaced, and the manifest names it', async (_, __, fault) => {
  const outcome = await runExport(workflow, { faults: [`report ${fault} times=2`] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it.each([
  ['13', 'not there', 'status=404'],
  ['15', 'READY without a URL', 'omit=download_url'],
])('%s: where every report is %s, the export fails after two replacements', async (_, __, fault) => {
  const outcome = await runExport(workflow, { faults: [`report ${fault} times=always`] });
  expectFailed(outcome, 'ReportStuck');
  expect(outcome.reports).toHaveLength(3);
  expect(outcome.failure.report_ids).toEqual(outcome.reports.map(({ id }) => id));
});
