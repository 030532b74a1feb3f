import { devNull } from 'node:os';

/** A person's settings of AWS are in these files, too. */
export const NO_AWS_FILES = {
  AWS_CONFIG_FILE: devNull,
  AWS_SHARED_CREDENTIALS_FILE: devNull,
  AWS_EC2_METADATA_DISABLED: 'true',
} as const;

/**
 * Removes all settings of AWS from this process. A command that works on this machine calls servers of this
 * machine with AWS's SDK, which would follow, for example, AWS_USE_FIPS_ENDPOINT or AWS_CA_BUNDLE.
 */
export function forgetAwsSettings(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, NO_AWS_FILES);
}
