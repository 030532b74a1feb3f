import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ speed: 1000, sandbox: { tokenSeconds: 86_400 } });

const NOT_A_REPORTS = {
  start_date: undefined,
  end_date: undefined,
  advertiser_ids: undefined,
  metrics: undefined,
};

/** A day on which a list is exported. */
function list(fields: Record<string, unknown> = {}, day: Conditions = {}): Promise<Outcome> {
  const asked = { kind: 'list', resource: 'campaigns', snapshot_date: '2026-11-20', ...fields };
  return runExport(workflow, { ...day, request: { ...NOT_A_REPORTS, ...asked } });
}

function linesOf({ object }: Outcome): string[] {
  return String(object).split('\n').slice(0, -1);
}

function idsOf(outcome: Outcome): string[] {
  return linesOf(outcome).map((line) => (JSON.parse(line) as { id: string }).id);
}

function queriesOf(outcome: Outcome) {
  return outcome.callsTo('list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
}

function of(resource: string, settings: NonNullable<SandboxOptions['lists']>[string]): Conditions {
  return { sandbox: { lists: { [resource]: settings } } };
}

describe('4.6: a list', () => {
  it('contract 8: of 12,345 campaigns arrives as 12,345 lines in 3 requests', async () => {
    const outcome = await list({ name: 'all' }, of('campaigns', { count: 12_345 }));
    expect(outcome).toMatchObject({ status: 'SUCCEEDED', output: { kind: 'list', rows: 12_345 } });
    const ids = idsOf(outcome);
    expect(ids).toHaveLength(12_345);
    expect(new Set(ids).size).toBe(12_345);
    expect(queriesOf(outcome)).toEqual(['0', '5000', '10000'].map((offset) => ({ limit: '5000', offset })));
    expect(outcome.manifest).toMatchObject({
      ...{ kind: 'list', rows: 12_345, repeated_items: 0, content_type: 'application/x-ndjson' },
      key: 'exports/account=sandbox/export=all/start_date=2026-11-20/end_date=2026-11-21/campaigns.ndjson',
      request: { resource: 'campaigns', limit: 5000 },
    });
  });

  // What a list has gained stays in the sandbox: each of these has a list of its own.
  it('contract 8: that grows between pages is written without repetitions, and those are counted', async () => {
    const growing = of('audiences', { count: 100, growPerPage: 3 });
    const outcome = await list({ resource: 'audiences', limit: 40 }, growing);
    const ids = idsOf(outcome);
    expect(new Set(ids).size).toBe(ids.length);
    expect(outcome.manifest).toMatchObject({
      ...{ rows: 100, repeated_items: 6 },
      warnings: [expect.stringContaining('pages of 40 without a bound on created_at')],
    });
  });

  it('contract 8: that is bounded by created_at is a consistent snapshot, whatever is created meanwhile', async () => {
    const created_at_lte = new Date(workflow.clock.now()).toISOString();
    const growing = of('creatives', { count: 100, growPerPage: 3 });
    const outcome = await list({ resource: 'creatives', limit: 40, filters: { created_at_lte } }, growing);
    expect(linesOf(outcome)).toHaveLength(100);
    expect(outcome.manifest).toMatchObject({ rows: 100, repeated_items: 0, warnings: [] });
    expect(queriesOf(outcome)[0]).toEqual({ created_at_lte, limit: '40', offset: '0' });
  });

  it.each([
    null,
    'campaigns',
    'items',
    'x-y',
  ])('may be wrapped in any one property: %s', async (listWrapper) => {
    expect(linesOf(await list({}, { sandbox: { listWrapper } }))).toHaveLength(57);
  });

  it('needs the setting items where it cannot be recognised, and says so', async () => {
    const body =
      'list times=always header.content-type=application/json body={"a":[],"b":{"c":[{"id":1}]},"d":[]}';
    const unknown = await list({}, { faults: [body] });
    expectFailed(unknown, 'AnswerUnreadable');
    expect(unknown.failure.happened).toContain('setting "items"');
    expect(idsOf(await list({ items: 'b.c' }, { faults: [body] }))).toEqual([1]);
  });

  it('2.6: is of items with any fields, each written as it came', async () => {
    const items = ['{"id":12345678901234567890,"é":{"a":[null]}}', '{"spend":1e400}', '"text"'];
    const body = `list times=always header.content-type=application/json body=[${items.join(',')}]`;
    expect(linesOf(await list({}, { faults: [body] }))).toEqual(items);
  });

  it('of nothing is an object without a line', async () => {
    const outcome = await list({}, of('campaigns', { count: 0 }));
    expect(outcome).toMatchObject({ status: 'SUCCEEDED', output: { rows: 0 } });
    expect(outcome.object).toHaveLength(0);
  });
});

describe('5.3: the scope of a list', () => {
  it('is that of its resource, and does not drive out a report’s token', async () => {
    await forgetTokens(workflow);
    const outcomes = [await runExport(workflow), await list(), await runExport(workflow)];
    const asked = outcomes.map((outcome) =>
      outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope')),
    );
    expect(asked).toEqual([['reporting:read'], ['campaigns:read'], []]);
  });

  it('is named where the client lacks it', async () => {
    const outcome = await list({}, { faults: ['list status=403 times=always'] });
    expectFailed(outcome, 'RequestRefused');
    expect(outcome.failure.happened).toContain('campaigns:read');
  });
});
