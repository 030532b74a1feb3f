import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { consentUrl } from '../../functions/platform/consent.ts';
import { safeAgent } from '../../functions/platform/safe-hosts.ts';
import { exchangeCode } from '../../functions/platform/token.ts';
import { CREDENTIALS } from '../../infra/local/s3/server.ts';
import type { Workflow } from './workflow.ts';

/** A sandbox credential whose user has consented beforehand (contract 4.2). */
export const CONSENTED = { consentGranted: true } as const;

/** Goes through the consent screen, and returns the credential with its refresh token: the text of the secret. */
export async function logIn({ sandbox }: Workflow): Promise<string> {
  const redirectUri = 'http://127.0.0.1:1/callback';
  const asked = { clientId: sandbox.clientId, redirectUri, scope: 'reporting:read', state: 'state' };
  const consent = await fetch(consentUrl(sandbox, asked), { redirect: 'manual' });
  const code = new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const client = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const platform = { baseUrl: sandbox.baseUrl, dispatcher: safeAgent({ allowLoopback: true }) };
  const { refreshToken } = await exchangeCode(platform, client, { code, redirect_uri: redirectUri });
  return JSON.stringify({ ...client, refresh_token: refreshToken });
}

export async function storeCredential(workflow: Workflow, SecretString: string): Promise<void> {
  await secretsOf(workflow).send(new PutSecretValueCommand({ SecretId: nameOf(workflow), SecretString }));
}

export async function storedCredential(workflow: Workflow): Promise<Record<string, string>> {
  const command = new GetSecretValueCommand({ SecretId: nameOf(workflow) });
  return JSON.parse((await secretsOf(workflow).send(command)).SecretString ?? '');
}

/** A client of the run's Secrets Manager. */
export function secretsOf({ secrets }: Pick<Workflow, 'secrets'>): SecretsManagerClient {
  return new SecretsManagerClient({
    ...{ endpoint: secrets.endpoint, region: 'us-east-1', credentials: CREDENTIALS },
  });
}

function nameOf({ sandbox }: Workflow): string {
  return `ad-report-export/${sandbox.credentials[0]?.account}/credential`;
}
