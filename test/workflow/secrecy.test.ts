import { expect, it } from 'vitest';
import { runExport, shareWorkflow } from '../support/run-export.ts';
import { CANARY, expectNoSecretWritten } from '../support/secrecy.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

// Every whole run searches what it wrote for secrets. Here the platform sends some where they do not belong.
const workflow = await shareWorkflow();

it.each([
  [
    'the token endpoint echoes the client secret',
    'token status=401 body={"error":"invalid_client","error_description":"sbx_cs_x"}',
  ],
  ['21: a URL has a forbidden address', 'report set.download_url="https://169.254.169.254/x?sig=sbx_sig_x"'],
])('P6: no secret or pre-signed URL is written if %s', async (_, fault) => {
  await forgetTokens(workflow);
  const { status } = await runExport(workflow, { faults: [`${fault} times=always`] });
  expect(status).toBe('FAILED');
  await expectNoSecretWritten(workflow);
});

it('P6: the search finds the secrets of the sandbox', async () => {
  await runExport(workflow);
  expect(JSON.stringify(workflow.sandbox.journal).match(CANARY)?.length).toBeGreaterThan(0);
  expect(workflow.sandbox.clientSecret.match(CANARY)).not.toBeNull();
});
