import { expect, it } from 'vitest';
import { type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ speed: 200, sandbox: { tokenSeconds: 86_400 } });

const WINDOW = '2026-10-01/2026-10-08';

/** States that a window goes through, and what their lines name beside the execution. */
const OF_A_WINDOW = ['CreateReport', 'CheckReport', 'SaveReport', 'PublishWindow', 'DescribeFailure'];
const OF_A_REPORT = ['CheckReport', 'SaveReport', 'PublishWindow'];

type Line = Readonly<Record<string, unknown>>;

/** Every line that the functions wrote, the metrics apart. What another test's functions wrote may come late. */
function linesOf({ logged, name }: Outcome): { lines: Line[]; metrics: Line[] } {
  const isOthers = ({ execution = name }: Line) =>
    execution !== name && /^export-\d+$/.test(String(execution));
  const all = logged.map((text) => JSON.parse(text) as Line).filter((line) => !isOthers(line));
  for (const line of all) expect(line).toMatchObject({ execution: name, service: 'ad-report-export' });
  return { lines: all.filter((line) => !line._aws), metrics: all.filter((line) => line._aws) };
}

it('each line is one JSON object that names execution, window, report and attempt', async () => {
  const faults = [
    'create status=500 times=2',
    'report nth=1 status=429 header.retry-after=10',
    'report nth=2 status=401',
    'storage nth=1 status=403',
    'storage nth=2 status=503',
  ];
  const outcome = await runExport(workflow, { faults });
  expect(outcome.status).toBe('SUCCEEDED');
  const { lines, metrics } = linesOf(outcome);
  for (const line of lines) {
    expect(line).toMatchObject({ step: expect.any(String), attempt: expect.any(Number) });
    if (OF_A_WINDOW.includes(String(line.step))) expect(line).toMatchObject({ window: WINDOW });
    if (OF_A_REPORT.includes(String(line.step))) expect(line.report_id).toMatch(/^[\w-]{36}$/);
  }
  for (const line of metrics) expect(line).toMatchObject({ window: WINDOW, attempt: expect.any(String) });
  const failed = lines.filter(({ step, message }) => step === 'CreateReport' && message === 'failed');
  expect(failed.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

it('each request to the platform is a line: what was asked, its status, request id and time', async () => {
  const faults = ['token nth=1 status=503', 'create status=500 times=1', 'report nth=1 reset=after'];
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults });
  const { lines } = linesOf(outcome);
  const told = lines.filter(({ method }) => method !== undefined);
  const asked = outcome.calls.filter(({ endpoint }) => endpoint !== 'storage');
  expect(told).toHaveLength(asked.length);
  for (const [at, { method, path, status, requestId }] of asked.entries()) {
    const became = status
      ? { status, request_id: requestId ?? 'absent' }
      : { code: expect.stringMatching(/^[A-Z_]+$/) };
    expect(told[at]).toMatchObject({ method, path, milliseconds: expect.any(Number), ...became });
  }
  const [failed] = lines.filter(({ step, message }) => step === 'CreateReport' && message === 'failed');
  expect(failed?.request_id).toMatch(/^req_/);
});

it('the lines of an export that fails name what failed as well', async () => {
  const outcome = await runExport(workflow, { faults: ['create status=403 times=always'] });
  expect(outcome.status).toBe('FAILED');
  const { lines } = linesOf(outcome);
  expect(lines.at(-1)).toMatchObject({ step: 'DescribeFailure', attempt: 1 });
  expect(lines).toContainEqual(
    expect.objectContaining({
      ...{ step: 'CreateReport', window: WINDOW, error: 'RequestRefused', attempt: 1 },
      request_id: expect.stringMatching(/^req_/),
    }),
  );
});
