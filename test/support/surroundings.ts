import { expect, onTestFinished } from 'vitest';
import { createNewObjects } from '../../functions/copy/new-object.ts';
import type { Settings } from '../../functions/workflow/settings.ts';
import type { S3Options } from '../../infra/local/s3/server.ts';
import { createMemorySecret } from '../../infra/local/secret.ts';
import { startSecretsManager } from '../../infra/local/secrets-manager.ts';
import type { SandboxOptions } from '../../infra/sandbox/settings.ts';
import { asLambda, awsEnvironment, SETTINGS, setEnvironment } from './lambda.ts';
import { startTestS3 } from './s3.ts';
import { startStep } from './steps.ts';

/** A local bucket that refuses calls without ExpectedBucketOwner, and the function with which a step writes objects to it. */
export async function startBucket(settings: Partial<Settings> = {}, options: Partial<S3Options> = {}) {
  const s3 = await startTestS3({ requireOwner: true, ...options });
  onTestFinished(() => s3.close());
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  return { s3, createObject: createNewObjects({ ...SETTINGS, ...settings }) };
}

/** Everything that a step's handler calls: the sandbox, the bucket, and the secret with the account's token. */
export async function startSurroundings(step: string, scope: string, sandboxOptions: SandboxOptions = {}) {
  const { sandbox, access, window } = await startStep(sandboxOptions);
  const s3 = await startTestS3({ requireOwner: true });
  onTestFinished(() => s3.close());
  const authorization = await access.readToken('acme', window.token);
  const expires_at = window.token.expires_at;
  const cached = { [scope]: { ...authorization, expires_at, issued_for: 'client' } };
  const secret = createMemorySecret(Date.now, JSON.stringify(cached));
  const secrets = await startSecretsManager({ secrets: new Map([['exports-test/acme/token', secret]]) });
  onTestFinished(() => secrets.close());
  // Another window has renewed the token since. The step must use the version that its state names.
  const [{ id: version } = { id: '' }] = await secret.versions();
  await secret.put('0'.repeat(32), JSON.stringify({ [scope]: { ...cached[scope], value: 'another' } }));
  const lambda = asLambda({
    ...{ ...SETTINGS, STEP: step, ALLOW_LOOPBACK: 'true' },
    ...{ PLATFORM_BASE_URL: sandbox.baseUrl, PLATFORM_REVISION: sandbox.revision },
    ...awsEnvironment({ S3: s3.endpoint, SECRETS_MANAGER: secrets.endpoint }),
  });
  const begun_at = new Date().toISOString();
  const token = { version, scope, expires_at, unproven: true };
  return { sandbox, s3, secrets, lambda, window: { ...window, begun_at, token } };
}

/** Checks that the step called the platform with the token of its state, stored one object and logged no token. */
export function expectOneObject(
  { lambda, secrets, s3, window }: Awaited<ReturnType<typeof startSurroundings>>,
  key: string,
  calls = 1,
): void {
  expect(secrets.journal.map(({ secret, version }) => [secret, version])).toEqual([
    ['exports-test/acme/token', window.token.version],
  ]);
  expect(s3.journal.map((call) => [call.operation, call.key, call.status])).toEqual([
    ['PutObject', key, 200],
  ]);
  const lines = lambda.lines();
  const answered = Array.from({ length: calls }, () => 'the platform answered');
  expect(lines.map(({ message }) => message)).toEqual([...answered, 'done']);
  expect(JSON.stringify(lines)).not.toMatch(/sbx_/);
}
