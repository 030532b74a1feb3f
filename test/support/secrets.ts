import { expect, onTestFinished } from 'vitest';
import { createSecrets } from '../../functions/aws/secrets.ts';
import { createTokenCache } from '../../functions/token/cached-tokens.ts';
import { createCredentialStore } from '../../functions/token/credential.ts';
import { ExportError } from '../../functions/workflow/errors.ts';
import { createSecret } from '../../infra/lab/local/secrets-manager.ts';
import { type Fault, startFaultySecrets } from './faulty-services.ts';
import { awsEnvironment, setEnvironment } from './lambda.ts';
import { errorOf as exportErrorOf } from './platform.ts';

export const CREDENTIAL = 'exports/acme/credential';
export const TOKEN = 'exports/acme/token';
export const LOGIN = { client_id: 'client', client_secret: 'canary-secret', refresh_token: 'canary-refresh' };

/** The secrets of one account in a local Secrets Manager. */
export async function startAccount({ credential, token }: { credential?: string; token?: string } = {}) {
  const stored = { credential: createSecret({ text: credential }), token: createSecret({ text: token }) };
  const manager = await startFaultySecrets(
    new Map([
      [CREDENTIAL, stored.credential],
      [TOKEN, stored.token],
    ]),
  );
  onTestFinished(() => manager.close());
  setEnvironment(awsEnvironment({ SECRETS_MANAGER: manager.endpoint }));
  const textOf = async (secret: keyof typeof stored) => stored[secret].versions().at(-1)?.text;
  const fail = (operation: string, answer: Fault['answer'], times = 1) =>
    manager.faults.push({ operation, answer, times });
  const calls = () => manager.journal.map(({ operation }) => operation);
  const secrets = createSecrets();
  return {
    secrets,
    manager,
    stored,
    textOf,
    fail,
    calls,
    store: createCredentialStore(secrets, 'exports', 'acme'),
    tokens: createTokenCache(secrets, 'exports'),
  };
}

/** The error of a call. Fails if it contains a secret. */
export async function errorOf(call: Promise<unknown>) {
  const { name, message, happened, facts } = await exportErrorOf(ExportError, call);
  expect(JSON.stringify([message, facts])).not.toContain('canary');
  return { name, happened, facts };
}
