import { randomBytes } from 'node:crypto';
import { LIST_NAMES } from './lists.ts';
import type { Credential } from './sandbox-options.ts';

/** Contract 5.3. */
export const GRANTABLE_SCOPES: readonly string[] = [
  ...['account', ...LIST_NAMES].flatMap((area) => [`${area}:read`, `${area}:write`]),
  'reporting:read',
];

/** Generates every field that is not given. The prefixes of secrets make a leak easy to find. */
export function createCredential(fields: Partial<Credential>): Credential {
  return {
    clientId: `sbx_client_${randomBytes(6).toString('hex')}`,
    clientSecret: `sbx_cs_${randomBytes(24).toString('base64url')}`,
    account: 'sandbox',
    scopes: GRANTABLE_SCOPES,
    advertisers: 'all',
    apiKey: `sbx_ak_${randomBytes(24).toString('base64url')}`,
    ...fields,
  };
}
