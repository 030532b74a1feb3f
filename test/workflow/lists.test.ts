import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { callsTo } from '../support/journal.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { startWorkflow, type Workflow } from '../support/workflow.ts';

const DAY = { snapshot_date: '2026-11-20' };
const PREFIX = 'exports/account=sandbox/export=list/start_date=2026-11-20/end_date=2026-11-21/';

function list(fields: Record<string, unknown> = {}) {
  return { name: 'list', account: 'sandbox', kind: 'list', resource: 'campaigns', ...DAY, ...fields };
}

async function itemsOf(workflow: Workflow, resource = 'campaigns'): Promise<{ id: string }[]> {
  const text = String(await workflow.object(`${PREFIX}${resource}.ndjson`));
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function manifestOf(workflow: Workflow) {
  return JSON.parse(String(await workflow.object(`${PREFIX}_manifest.json`)));
}

function queriesOf({ sandbox }: Workflow) {
  return callsTo(sandbox, 'list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
}

function campaigns(settings: NonNullable<SandboxOptions['lists']>[string]): SandboxOptions {
  return { lists: { campaigns: settings } };
}

describe('4.6: a list', () => {
  it('8: of 12,345 campaigns arrives as 12,345 lines in 3 requests', async () => {
    await using workflow = await startWorkflow({ sandbox: campaigns({ count: 12_345 }) });
    const ended = await workflow.run(list());
    expect(ended).toMatchObject({ status: 'SUCCEEDED', output: { kind: 'list', rows: 12_345 } });
    const ids = (await itemsOf(workflow)).map(({ id }) => id);
    expect(ids).toHaveLength(12_345);
    expect(new Set(ids).size).toBe(12_345);
    expect(queriesOf(workflow)).toEqual(['0', '5000', '10000'].map((offset) => ({ limit: '5000', offset })));
    expect(await manifestOf(workflow)).toMatchObject({
      ...{ kind: 'list', rows: 12_345, repeated_items: 0, content_type: 'application/x-ndjson' },
      request: { resource: 'campaigns', limit: 5000 },
    });
    await expectNoSecretWritten(workflow);
  });

  it('8: that grows between pages is written without repetitions, and those are counted', async () => {
    await using workflow = await startWorkflow({ sandbox: campaigns({ count: 100, growPerPage: 3 }) });
    await workflow.run(list({ limit: 40 }));
    const ids = (await itemsOf(workflow)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await manifestOf(workflow)).toMatchObject({ rows: 100, repeated_items: 6 });
  });

  it('8: that is bounded by created_at is a consistent snapshot, whatever is created meanwhile', async () => {
    await using workflow = await startWorkflow({ sandbox: campaigns({ count: 100, growPerPage: 3 }) });
    const created_at_lte = new Date(Date.now() - 1000).toISOString();
    await workflow.run(list({ limit: 40, filters: { created_at_lte } }));
    expect(await itemsOf(workflow)).toHaveLength(100);
    expect(await manifestOf(workflow)).toMatchObject({ rows: 100, repeated_items: 0 });
    expect(queriesOf(workflow)[0]).toEqual({ created_at_lte, limit: '40', offset: '0' });
  });

  it.each([
    null,
    'campaigns',
    'items',
    'x-y',
  ])('may be wrapped in any one property: %s', async (listWrapper) => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { listWrapper } });
    await workflow.run(list());
    expect(await itemsOf(workflow)).toHaveLength(57);
  });

  it('needs the setting items where it cannot be recognised, and says so', async () => {
    const body =
      'list times=always header.content-type=application/json body={"a":[],"b":{"c":[{"id":1}]},"d":[]}';
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { faults: [body] } });
    const ended = await workflow.run(list());
    expect(ended).toMatchObject({ status: 'FAILED', error: 'AnswerUnreadable' });
    expect(JSON.parse(ended.cause ?? '').happened).toContain('setting "items"');
    expect((await workflow.run(list({ items: 'b.c' }))).status).toBe('SUCCEEDED');
    expect(await itemsOf(workflow)).toEqual([{ id: 1 }]);
  });

  it('2.6: is of items with any fields, each written as it came', async () => {
    const items = ['{"id":12345678901234567890,"é":{"a":[null]}}', '{"spend":1e400}', '"text"'];
    const body = `list header.content-type=application/json body=[${items.join(',')}]`;
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { faults: [body] } });
    expect((await workflow.run(list())).status).toBe('SUCCEEDED');
    expect(String(await workflow.object(`${PREFIX}campaigns.ndjson`))).toBe(`${items.join('\n')}\n`);
  });

  it('of nothing is an object without a line', async () => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: campaigns({ count: 0 }) });
    expect(await workflow.run(list())).toMatchObject({ status: 'SUCCEEDED', output: { rows: 0 } });
    expect(await workflow.object(`${PREFIX}campaigns.ndjson`)).toHaveLength(0);
  });
});

describe('5.3: the scope of a list', () => {
  it('is that of its resource, and does not drive out a report’s token', async () => {
    // Slowly enough that three runs on a busy machine end within a token's hour.
    await using workflow = await startWorkflow({ speed: 100 });
    await workflow.run();
    await workflow.run(list());
    await workflow.run();
    const scopes = callsTo(workflow.sandbox, 'token').map(({ body }) =>
      new URLSearchParams(body).get('scope'),
    );
    expect(scopes).toEqual(['reporting:read', 'campaigns:read']);
  });

  it('is named where the client lacks it', async () => {
    await using workflow = await startWorkflow({
      speed: 1000,
      sandbox: { faults: ['list status=403 times=always'] },
    });
    const ended = await workflow.run(list());
    expect(ended.error).toBe('RequestRefused');
    expect(JSON.parse(ended.cause ?? '').happened).toContain('campaigns:read');
  });
});
