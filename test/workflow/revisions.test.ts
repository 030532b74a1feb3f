import { expect, it } from 'vitest';
import { runExport, startFastWorkflow } from '../support/run-export.ts';

it('9.1, 9.3, 9.4: the revision of a request is sent in every call, and no revision in token requests', async () => {
  await using workflow = await startFastWorkflow({
    revision: '2026-01-15',
    sandbox: { revisions: ['2026-01-15', '2026-09-01'] },
  });
  const { status, calls } = await runExport(workflow, { request: { revision: '2026-09-01' } });
  expect(status).toBe('SUCCEEDED');
  const sent = calls.map(({ endpoint, headers }) => [endpoint, headers['x-service-revision']]);
  expect(sent).toEqual([
    ['token', undefined],
    ['create', '2026-09-01'],
    ['report', '2026-09-01'],
    ['report', '2026-09-01'],
    ['storage', undefined],
  ]);
});
