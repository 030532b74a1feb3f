import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../infra/sandbox/settings.ts';
import {
  type Conditions,
  commonWorkflow,
  expectFailed,
  type Outcome,
  runExport,
} from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

function list(fields: Record<string, unknown> = {}, conditions: Conditions = {}): Promise<Outcome> {
  const asked = { kind: 'list', snapshot_date: '2026-11-20', ...fields };
  return runExport(workflow, { ...conditions, request: asked });
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

/** The sandbox's list of this resource. */
function listOf(resource: string, settings: NonNullable<SandboxOptions['lists']>[string]): Conditions {
  return { sandbox: { lists: { [resource]: settings } } };
}

describe('4.6: a list', () => {
  it('of 12,345 campaigns arrives as 12,345 lines in 3 requests (contract 8)', async () => {
    const outcome = await list({ name: 'all' }, listOf('campaigns', { count: 12_345 }));
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

  // A list keeps what it gained, so each of these tests uses another list.
  it('that grows between pages is written without repeated items, which are counted (contract 8)', async () => {
    const growing = listOf('audiences', { count: 100, growPerPage: 3 });
    const outcome = await list({ resource: 'audiences', limit: 40 }, growing);
    const ids = idsOf(outcome);
    expect(new Set(ids).size).toBe(ids.length);
    expect(outcome.manifest).toMatchObject({
      ...{ rows: 100, repeated_items: 6 },
      warnings: [expect.stringContaining('pages of 40 without a bound on created_at')],
    });
  });

  it('bounded by created_at is a consistent snapshot (contract 8)', async () => {
    const created_at_lte = new Date(workflow.clock.now()).toISOString();
    const growing = listOf('creatives', { count: 100, growPerPage: 3 });
    const outcome = await list({ resource: 'creatives', limit: 40, filters: { created_at_lte } }, growing);
    expect(linesOf(outcome)).toHaveLength(100);
    expect(outcome.manifest).toMatchObject({ rows: 100, repeated_items: 0, warnings: [] });
    expect(queriesOf(outcome)[0]).toEqual({ created_at_lte, limit: '40', offset: '0' });
  });

  it.each([null, 'campaigns', 'items', 'x-y'])('may be wrapped in any property: %s', async (listWrapper) => {
    expect(linesOf(await list({}, { sandbox: { listWrapper } }))).toHaveLength(57);
  });

  it('that cannot be recognised needs the field items, and the failure says so', async () => {
    const body =
      'list times=always header.content-type=application/json body={"a":[],"b":{"c":[{"id":1}]},"d":[]}';
    const unknown = await list({}, { faults: [body] });
    expectFailed(unknown, 'AnswerUnreadable');
    expect(unknown.failure.happened).toContain('setting "items"');
    expect(idsOf(await list({ items: 'b.c' }, { faults: [body] }))).toEqual([1]);
  });

  it('2.6: keeps every item as it came, whatever its fields', async () => {
    const items = ['{"id":12345678901234567890,"é":{"a":[null]}}', '{"spend":1e400}', '"text"'];
    const body = `list times=always header.content-type=application/json body=[${items.join(',')}]`;
    expect(linesOf(await list({}, { faults: [body] }))).toEqual(items);
  });

  it('without items becomes an empty object', async () => {
    const outcome = await list({}, listOf('campaigns', { count: 0 }));
    expect(outcome).toMatchObject({ status: 'SUCCEEDED', output: { rows: 0 } });
    expect(outcome.object).toHaveLength(0);
  });
});

describe('5.3: the scope of a list', () => {
  it('is that of its resource, and leaves a report’s token cached', async () => {
    await forgetTokens(workflow);
    const outcomes = [await runExport(workflow), await list(), await runExport(workflow)];
    const asked = outcomes.map((outcome) =>
      outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope')),
    );
    expect(asked).toEqual([['reporting:read'], ['campaigns:read'], []]);
  });

  it('is named if the client lacks it', async () => {
    const outcome = await list({}, { faults: ['list status=403 times=always'] });
    expectFailed(outcome, 'RequestRefused');
    expect(outcome.failure.happened).toContain('campaigns:read');
  });
});
