import { expect, it } from 'vitest';
import { runExport, shareWorkflow } from '../support/run-export.ts';
import { CANARY, expectNoSecretWritten } from '../support/secrecy.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow();

it.each([
  ['is delivered', []],
  [
    'fails at the token, with an echo of the secret',
    ['token status=401 body={"error":"invalid_client","error_description":"sbx_cs_x"} times=always'],
  ],
  ['fails at the report', ['create status=422 times=always']],
  ['fails at the copy', ['storage status=404 times=always']],
  [
    'gets a URL with a forbidden address',
    ['report set.download_url="https://169.254.169.254/x?sig=sbx_sig_x" times=always'],
  ],
  ['gets a page instead of a report', ['storage body="<html>sbx_sig_x</html>" times=always']],
])('P6: no secret or pre-signed URL is written when an export %s', async (_, faults) => {
  await forgetTokens(workflow);
  const { status } = await runExport(workflow, { faults });
  expect(status).toBe(faults.length > 0 ? 'FAILED' : 'SUCCEEDED');
  await expectNoSecretWritten(workflow);
});

it('P6: the search finds the secrets of the sandbox', async () => {
  await runExport(workflow);
  expect(JSON.stringify(workflow.sandbox.journal).match(CANARY)?.length).toBeGreaterThan(0);
  expect(workflow.sandbox.clientSecret.match(CANARY)).not.toBeNull();
});
