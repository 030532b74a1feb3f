import * as z from 'zod/mini';

/** The environment of every function, written by the stack. */
export const Settings = z.object({
  /** The function's own step, such as CheckReport. */
  STEP: z.string(),
  /** May have a path. */
  PLATFORM_BASE_URL: z.url(),
  /** The pinned X-Service-Revision (contract 9.4). A request may name another one. */
  PLATFORM_REVISION: z.string(),
  /** A JSON object of form parameters that a refresh request adds to those of RFC 6749 (contract 4.1 does not show them). */
  REFRESH_PARAMETERS: z.optional(z.string()),
  /** The secrets are `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  SECRET_PREFIX: z.string(),
  BUCKET: z.string(),
  /** S3 refuses a call if another AWS account owns the bucket. */
  BUCKET_OWNER: z.string(),
  /** Separated by commas. */
  ACCOUNTS: z.string(),
  MAX_DOWNLOAD_BYTES: z.string().check(z.regex(/^[1-9]\d*$/)),
  /** Hosts that a download URL may name, separated by commas. Default: any public host. */
  DOWNLOAD_HOSTS: z.optional(z.string()),
  /** The runbook's address, without the `#` of a section. Default: its path in the repository. */
  RUNBOOK_URL: z.optional(z.string()),
  /** Allows plain http to a loopback address. Never set in a deployed stack. */
  ALLOW_LOOPBACK: z.optional(z.literal('true')),
});
export type Settings = z.infer<typeof Settings>;

/** Throws a ZodError that names each missing setting, because the deployment is faulty then. */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Settings {
  return Settings.parse(environment);
}

/** Reads a setting that holds a JSON object of strings. Returns an empty object if it is absent. */
export function readSettingObject(text: string | undefined): Readonly<Record<string, string>> {
  return text === undefined ? {} : z.record(z.string(), z.string()).parse(JSON.parse(text));
}
