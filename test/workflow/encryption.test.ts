import { expect, it } from 'vitest';
import { loadAssembly, prepareAssembly } from '../../infra/local/assembly.ts';
import { startWorkflow } from '../support/workflow.ts';

it('with a key of the customer’s, the same workflow runs here as without', async () => {
  const assembly = loadAssembly(await prepareAssembly({ kms_key: 'create' }));
  await using workflow = await startWorkflow({ assembly });
  expect(await workflow.run()).toMatchObject({ status: 'SUCCEEDED' });
});
