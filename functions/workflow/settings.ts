import * as z from 'zod/mini';

/** The environment of every function. The stack writes it and the steps read it by these names. */
export const Settings = z.object({
  /** The function's own step, such as CheckReport. */
  STEP: z.string(),
  /** Where the platform's API is; may have a path. */
  PLATFORM_BASE_URL: z.url(),
  /** The pinned X-Service-Revision (contract 9.4); a request may name another one. */
  PLATFORM_REVISION: z.string(),
  /** JSON object of form parameters that a refresh request sends beside RFC 6749's (contract 4.1 does not show them). */
  REFRESH_PARAMETERS: z.optional(z.string()),
  /** Secrets are called `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  SECRET_PREFIX: z.string(),
  BUCKET: z.string(),
  /** The AWS account that must own the bucket; S3 refuses a call where another one does. */
  BUCKET_OWNER: z.string(),
  /** Accounts that the stack knows, separated by commas. */
  ACCOUNTS: z.string(),
  /** The largest file that is copied. */
  MAX_DOWNLOAD_BYTES: z.string().check(z.regex(/^[1-9]\d*$/)),
  /** Hosts that a download URL may name, separated by commas; absent: any public one. */
  DOWNLOAD_HOSTS: z.optional(z.string()),
  /** Where the runbook can be read, up to the `#` of a section; absent: its path in the repository. */
  RUNBOOK_URL: z.optional(z.string()),
  /** Whether plain http to a loopback address is let through. Never set in a deployed stack. */
  ALLOW_LOOPBACK: z.optional(z.literal('true')),
});
export type Settings = z.infer<typeof Settings>;

/** Reads the environment; a missing setting is a fault of the deployment, so it fails at once and is named. */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Settings {
  return Settings.parse(environment);
}

/** A setting that holds a JSON object of strings; empty where it is absent. */
export function readSettingObject(text: string | undefined): Readonly<Record<string, string>> {
  return text === undefined ? {} : z.record(z.string(), z.string()).parse(JSON.parse(text));
}
