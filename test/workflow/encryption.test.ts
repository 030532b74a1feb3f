import { expect, it } from 'vitest';
import { startWorkflow } from '../support/workflow.ts';

it('with a key of the customer’s, the same workflow runs here as without', async () => {
  await using workflow = await startWorkflow({ config: { kms_key: 'create' } });
  expect(await workflow.run()).toMatchObject({ status: 'SUCCEEDED' });
});
