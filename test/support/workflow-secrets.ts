import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { consentUrl, requestToken } from '../../functions/platform/oauth.ts';
import { safeAgent } from '../../functions/platform/safe-agent.ts';
import { CREDENTIALS } from '../../infra/lab/local/s3/server.ts';
import type { Workflow } from './workflow.ts';

/** Goes through the consent screen, and returns the text of a credential secret with a refresh token. */
export async function logIn({ sandbox }: Pick<Workflow, 'sandbox'>): Promise<string> {
  const redirect_uri = 'http://127.0.0.1:1/callback';
  const asked = { client_id: sandbox.clientId, redirect_uri, scope: 'reporting:read', state: 'state' };
  const body = new URLSearchParams({ decision: 'allow' });
  const consent = await fetch(consentUrl(sandbox, asked), { method: 'POST', body, redirect: 'manual' });
  const code = new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const client = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const platform = { baseUrl: sandbox.baseUrl, dispatcher: safeAgent({ allowLoopback: true }) };
  const { refreshToken } = await requestToken(platform, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri,
  });
  return JSON.stringify({ ...client, refresh_token: refreshToken });
}

export function storeCredential(workflow: Workflow, text: string): Promise<void> {
  return put(workflow, 'credential', text);
}

export async function storedCredential(workflow: Workflow): Promise<Record<string, string>> {
  const command = new GetSecretValueCommand({ SecretId: secretId(workflow, 'credential') });
  return JSON.parse((await clientOf(workflow).send(command)).SecretString ?? '');
}

/** Removes the cached tokens, so that the next export has to request one. */
export function forgetTokens(workflow: Workflow): Promise<void> {
  return put(workflow, 'token', '{}');
}

async function put(workflow: Workflow, secret: 'credential' | 'token', SecretString: string): Promise<void> {
  const command = new PutSecretValueCommand({ SecretId: secretId(workflow, secret), SecretString });
  await clientOf(workflow).send(command);
}

/** The id of a secret of the workflow's first account. */
export function secretId({ sandbox }: Workflow, secret: 'credential' | 'token'): string {
  return `ad-report-export/${sandbox.credentials[0]?.account}/${secret}`;
}

function clientOf({ secrets: { endpoint } }: Workflow): SecretsManagerClient {
  return new SecretsManagerClient({ endpoint, region: 'us-east-1', credentials: CREDENTIALS });
}
