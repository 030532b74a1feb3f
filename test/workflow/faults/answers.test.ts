import { expect, it } from 'vitest';
import { commonWorkflow, expectFailed, gapsIn, runExport } from '../../support/run-export.ts';

// Answers of the platform's API that are lost, cannot be read, or cannot be used.
const workflow = await commonWorkflow();

it.each([
  ['resets the connection', 'reset=after'],
  ['answers 502', 'status=502 processed'],
  ['answers 504', 'status=504 processed'],
])('10: if POST /reports %s, at most one more report is created and one is delivered', async (_, fault) => {
  const once = await runExport(workflow, { faults: [`create ${fault}`] });
  expect(once.status).toBe('SUCCEEDED');
  expect(once.reports).toHaveLength(2);
  expect(once.manifest?.report_id).toBe(once.reports[1]?.id);
  const always = await runExport(workflow, { faults: [`create ${fault} times=always`] });
  expectFailed(always, 'AnswerLost');
  expect(always.reports).toHaveLength(2);
});

it('10: a window repeats a lost POST /reports once, whatever happens in between', async () => {
  const outcome = await runExport(workflow, {
    sandbox: { report: { secondsToReady: 1e9 } },
    faults: ['create reset=after', 'create nth=3 reset=after times=always'],
  });
  expectFailed(outcome, 'AnswerLost');
  expect(outcome.callsTo('create')).toHaveLength(3);
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
  ['POST', '200 instead of 201', 'create status=200'] as const,
  ...UNREADABLE.map(([what, fault]) => ['GET', what, `report ${fault}`] as const),
  ['GET', 'another report', 'report set.id=other'] as const,
  ['GET', '204 instead of 200', 'report status=204'] as const,
])('11: a %s answered with %s is retried once', async (_, __, fault) => {
  expect((await runExport(workflow, { faults: [fault] })).status).toBe('SUCCEEDED');
  const outcome = await runExport(workflow, { faults: [`${fault} times=always`] });
  expectFailed(outcome, 'AnswerUnreadable');
  expect(outcome.calls.filter(({ endpoint }) => fault.startsWith(endpoint))).toHaveLength(2);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

it('11: an error envelope without its fields is judged by its status, with request_id absent', async () => {
  const bare = 'omit=error.type,error.message,error.status,error.request_id,error.doc_url times=always';
  const outcome = await runExport(workflow, { faults: [`create status=422 ${bare}`] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.callsTo('create')).toHaveLength(1);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

const NOT_FOUND = ['13', 'not found', 'status=404'] as const;
const WITHOUT_URL = ['15', 'READY without a URL', 'omit=download_url'] as const;
const BAD_URL = ['15', 'READY with an invalid URL', 'set.download_url="not a URL"'] as const;

it.each([
  NOT_FOUND,
  ['14', 'in a status that the contract does not name', 'set.status=QUEUED omit=download_url'],
  WITHOUT_URL,
  BAD_URL,
  ['15', 'READY with an empty URL', 'set.download_url=""'],
] as const)('%s: a report that is %s once is polled once more', async (_, __, fault) => {
  for (const nth of [1, 2]) {
    const outcome = await runExport(workflow, { faults: [`report nth=${nth} ${fault}`] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    // If SaveReport cannot use the answer, CheckReport has to find the report READY again.
    expect(gapsIn(outcome)).toHaveLength(2 + nth);
  }
});

it.each([
  NOT_FOUND,
  WITHOUT_URL,
  BAD_URL,
])('%s: a report that is %s twice is replaced, and the manifest names both', async (_, __, fault) => {
  const outcome = await runExport(workflow, { faults: [`report ${fault} times=2`] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it.each([
  NOT_FOUND,
  WITHOUT_URL,
])('%s: if every report is %s, the export fails after two replacements', async (_, __, fault) => {
  const outcome = await runExport(workflow, { faults: [`report ${fault} times=always`] });
  expectFailed(outcome, 'ReportStuck');
  expect(outcome.reports).toHaveLength(3);
  expect(outcome.failure.report_ids).toEqual(outcome.reports.map(({ id }) => id));
});
