import { describe, expect, it } from 'vitest';
import { type Metric, metricsIn } from '../support/emf.ts';
import { type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ speed: 200 });

const WINDOW = '2026-10-01/2026-10-03';

/** Steps whose lines name the window, and those whose lines name the report. */
const OF_A_WINDOW = ['CreateReport', 'CheckReport', 'SaveReport', 'PublishWindow', 'DescribeFailure'];
const OF_A_REPORT = ['CheckReport', 'SaveReport', 'PublishWindow'];

type Line = Readonly<Record<string, unknown>>;

/** Every line that the functions wrote for this execution. Lines of the one before may arrive late. */
function linesOf({ logged, name }: Outcome): { lines: Line[]; metrics: Line[] } {
  const isOthers = ({ execution = name }: Line) =>
    execution !== name && /^export-\d+$/.test(String(execution));
  const all = logged.map((text) => JSON.parse(text) as Line).filter((line) => !isOthers(line));
  for (const line of all) expect(line).toMatchObject({ execution: name, service: 'ad-report-export' });
  return { lines: all.filter((line) => !line._aws), metrics: all.filter((line) => line._aws) };
}

describe('a log line', () => {
  it('is one JSON object that names execution, window, report and attempt', async () => {
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

  it('reports each request to the platform: method, path, status, request id and time', async () => {
    const faults = ['token nth=1 status=503', 'create status=500 times=1', 'report nth=1 reset=after'];
    await forgetTokens(workflow);
    const outcome = await runExport(workflow, { faults });
    const { lines } = linesOf(outcome);
    const reported = lines.filter(({ method }) => method !== undefined);
    const asked = outcome.calls.filter(({ endpoint }) => endpoint !== 'storage');
    expect(reported).toHaveLength(asked.length);
    for (const [at, { method, path, status, requestId }] of asked.entries()) {
      const became = status
        ? { status, request_id: requestId ?? 'absent' }
        : { code: expect.stringMatching(/^[A-Z_]+$/) };
      expect(reported[at]).toMatchObject({ method, path, milliseconds: expect.any(Number), ...became });
    }
    const [failed] = lines.filter(({ step, message }) => step === 'CreateReport' && message === 'failed');
    expect(failed?.request_id).toMatch(/^req_/);
  });
});

describe('the metrics of an export', () => {
  /** Checks that each metric is valid in the embedded metric format. */
  function metricsOf({ logged, name }: Pick<Outcome, 'logged' | 'name'>): Metric[] {
    const own = logged.filter((text) => text.includes(JSON.stringify(name)));
    return metricsIn(own.map((text) => ({ function: 'any', stream: 'stdout', text })));
  }

  function total(
    metrics: readonly Metric[],
    name: string,
    dimensions: Readonly<Record<string, string>> = {},
  ) {
    const all = { service: 'ad-report-export', ...dimensions };
    return metrics
      .filter((metric) => metric.name === name && JSON.stringify(metric.dimensions) === JSON.stringify(all))
      .reduce((sum, { value }) => sum + value, 0);
  }

  it('count what was delivered and what was retried', async () => {
    const ended = await runExport(workflow, {
      faults: ['create nth=1 status=401', 'report nth=1 status=429', 'storage nth=1 status=403'],
    });
    const metrics = metricsOf(ended);
    const { bytes, rows } = ended.output as { bytes: number; rows: number };
    const of = { account: 'sandbox', export: String(ended.request.name) };
    expect(total(metrics, 'Deliveries', of)).toBe(1);
    expect(total(metrics, 'Bytes', of)).toBe(bytes);
    expect(total(metrics, 'Rows', of)).toBe(rows);
    expect(total(metrics, 'TimeToReady', of)).toBeGreaterThanOrEqual(10);
    expect(total(metrics, 'Freshness', of)).toBeGreaterThan(0);
    for (const kind of ['TokenRefused', 'Throttled', 'UrlExpired']) {
      expect(total(metrics, 'Retries', { kind }), kind).toBe(1);
    }
  });
});
