import { expect, it } from 'vitest';
import { deliver, type Outcome, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ speed: 200 });

const WINDOW = '2026-10-01/2026-10-03';

/** Steps whose lines name the window, and those whose lines name the report. */
const OF_A_WINDOW = ['CreateReport', 'CheckReport', 'SaveReport', 'PublishWindow', 'DescribeFailure'];
const OF_A_REPORT = ['CheckReport', 'SaveReport', 'PublishWindow'];

type Line = Readonly<Record<string, unknown>>;

/** Every line that the functions wrote for this execution. Lines of the one before may arrive late. */
function linesOf({ logged, name }: Outcome): Line[] {
  const isOthers = ({ execution = name }: Line) =>
    execution !== name && /^export-\d+$/.test(String(execution));
  const all = logged.map((text) => JSON.parse(text) as Line).filter((line) => !isOthers(line));
  for (const line of all) expect(line).toMatchObject({ execution: name, service: 'ad-report-export' });
  return all;
}

it('lines name execution, window, report and attempt, and each request', async () => {
  await forgetTokens(workflow);
  const faults = [
    ...['token status=503', 'create status=401', 'create nth=2 status=500 times=2'],
    ...['report reset=after', 'report nth=2 status=429', 'storage status=403', 'storage nth=2 status=503'],
  ];
  const outcome = await deliver(workflow, { faults });

  const lines = linesOf(outcome);
  for (const line of lines) {
    expect(line).toMatchObject({ step: expect.any(String), attempt: expect.any(Number) });
    if (OF_A_WINDOW.includes(String(line.step))) expect(line).toMatchObject({ window: WINDOW });
    if (OF_A_REPORT.includes(String(line.step))) expect(line.report_id).toMatch(/^[\w-]{36}$/);
  }
  const failed = lines.filter(({ step, message }) => step === 'CreateReport' && message === 'failed');
  expect(failed.map(({ error }) => error)).toEqual([
    'TokenRefused',
    'PlatformUnavailable',
    'PlatformUnavailable',
  ]);
  expect(failed[0]?.request_id).toMatch(/^req_/);

  const reported = lines.filter(({ method }) => method !== undefined);
  const asked = outcome.calls.filter(({ endpoint }) => endpoint !== 'storage');
  expect(reported).toHaveLength(asked.length);
  for (const [at, { method, path, status, requestId }] of asked.entries()) {
    const became = status ? { status } : { code: expect.stringMatching(/^[A-Z_]+$/) };
    expect(reported[at]).toMatchObject({ method, path, milliseconds: expect.any(Number), ...became });
    expect(reported[at]?.request_id).toBe(requestId);
  }
});
