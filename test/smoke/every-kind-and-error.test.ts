import { beforeEach, describe, expect, it } from 'vitest';
import * as errors from '../../functions/workflow/errors.ts';
import { costOf } from '../../infra/stack/config/cost.ts';
import { type Conditions, keysOf, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow();

beforeEach(() => forgetTokens(workflow));

describe('an export', () => {
  it.each([
    ['report', 'report.json'],
    ['purchases', 'purchases.json'],
    ['list', 'campaigns.ndjson'],
  ] as const)('of kind %s leaves its object, a manifest and one event', async (kind, file) => {
    const { status, output, manifest, object, announced, events } = await runExport(workflow, {
      request: { name: `a-${kind}`, kind },
    });
    expect(status).toBe('SUCCEEDED');
    expect(manifest).toMatchObject({ kind, bytes: object?.length });
    const keys = await keysOf(workflow, `a-${kind}`);
    expect(keys.map((key) => key.split('/').at(-1))).toEqual(['_manifest.json', file]);
    expect(announced).toMatchObject([
      { source: 'ad-report-export', 'detail-type': 'Report Exported', detail: output },
    ]);
    // `plan` counts these states to estimate the cost.
    const entered = events.filter(({ type }) => type === 'StateEntered');
    expect(entered).toHaveLength(costOf(kind, 1, 0).transitions);
  });
});

describe('a failed export', () => {
  const always = (...faults: string[]) => ({ faults: faults.map((fault) => `${fault} times=always`) });
  const manifest = (answer: 'AccessDenied' | 'ENOSPC' | 'SlowDown') => ({
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer, times: 99 }] as const,
  });

  const CONDITIONS: Readonly<Partial<Record<keyof typeof errors, Conditions>>> = {
    InvalidInput: { request: { end_date: 'never' } },
    CredentialUnusable: always('token status=401'),
    LoginRequired: always(
      'token status=400 body={"error":"invalid_grant"} header.content-type=application/json',
    ),
    TokenRefusedAgain: always('create status=401'),
    RequestRefused: always('create status=422'),
    RateLimited: always('create status=429'),
    ReportStuck: always('report status=404'),
    DownloadRefused: always('storage body=<html>'),
    AccessRefused: manifest('AccessDenied'),
    DiskFull: manifest('ENOSPC'),
    ExportIncomplete: {
      faults: ['create status=422 times=1', 'create nth=2 body=<html> times=always'],
      request: { start_date: '2026-01-01', end_date: '2026-03-01', max_parallel: 1 },
    },
    PlatformUnavailable: always('create status=500'),
    AnswerLost: always('create reset=after'),
    AnswerUnreadable: always('create body=<html>'),
    CopyFailed: always('storage status=404'),
    ServiceUnavailable: manifest('SlowDown'),
  };

  /** The workflow handles the first two itself. A window has to last 12 hours to end with the third. */
  const NEVER_ENDS_AN_EXPORT = ['TokenRefused', 'UrlExpired', 'OutOfTime'];

  it.each(Object.entries(CONDITIONS))('ends with %s and says what to do next', async (name, conditions) => {
    const { status, error, failure } = await runExport(workflow, conditions);
    expect({ status, error }).toEqual({ status: 'FAILED', error: name });
    expect(failure?.error).toBe(name);
    expect(failure?.todo).not.toBe('');
    expect(failure?.runbook).toContain(name.toLowerCase());
  });

  it('36: of a request that is no object calls nothing', async () => {
    const before = workflow.sandbox.journal.length;
    expect(await workflow.run('text')).toMatchObject({ status: 'FAILED', error: 'InvalidInput' });
    expect(workflow.sandbox.journal).toHaveLength(before);
  });

  it('has a test here for every error class', () => {
    const names = Object.values(errors).flatMap((value) =>
      typeof value === 'function' && value.prototype instanceof errors.ExportError ? [value.name] : [],
    );
    expect([...Object.keys(CONDITIONS), ...NEVER_ENDS_AN_EXPORT].sort()).toEqual(names.sort());
  });
});
