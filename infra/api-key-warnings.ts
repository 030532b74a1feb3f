import { Annotations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { apiKeyWarning } from '../functions/token/api-key.ts';
import type { Config } from './config.ts';

/**
 * Warns at each synth of the accounts that still use a legacy API key (contract 9.6). No synth sees a credential, so the
 * config has to say which they are.
 */
export function warnOfApiKeys(
  stack: Construct,
  { legacy_api_key_accounts = [] }: Pick<Config, 'legacy_api_key_accounts'>,
  now: Date,
): void {
  for (const account of legacy_api_key_accounts) {
    Annotations.of(stack).addWarningV2(`ad-report-export:apiKey:${account}`, apiKeyWarning(account, now));
  }
}
