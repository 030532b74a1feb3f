import * as z from 'zod/mini';

/** Settings of functions, which are environment variables that the stack writes. */
export const Settings = z.object({
  /** The function's own step, such as CheckReport. */
  STEP: z.string(),
  /** May have a path. */
  PLATFORM_BASE_URL: z.url(),
  /** The platform's name in request hashes, if only a deployment tells its address. Default: the address. */
  PLATFORM_NAME: z.optional(z.string()),
  /** The pinned revision of the platform's API. A request may name another one. */
  PLATFORM_REVISION: z.string(),
  /** A JSON object of form parameters that a refresh adds to RFC 6749's. The contract does not show them. */
  REFRESH_PARAMETERS: z.optional(z.string()),
  /** The secrets are `<prefix>/<account>/credential` and `<prefix>/<account>/token`. */
  SECRET_PREFIX: z.string(),
  /** A JSON object: how the platform lists advertisers, where it differs from ListAdvertisers' defaults. */
  ADVERTISERS_LIST: z.optional(z.string()),
  BUCKET: z.string(),
  /** S3 refuses a call if another AWS account owns the bucket. */
  BUCKET_OWNER: z.string(),
  MAX_DOWNLOAD_BYTES: z.string().check(z.regex(/^[1-9]\d*$/)),
  /** CurateReport does not read larger files. */
  MAX_CURATE_BYTES: z.string().check(z.regex(/^[1-9]\d*$/)),
  /** The Glue database of the tables. Default: there are no tables. */
  GLUE_DATABASE: z.optional(z.string()),
  /** Hosts that a download URL may name, separated by commas. Default: any public host. */
  DOWNLOAD_HOSTS: z.optional(z.string()),
  /** The program of the command line, as its owner calls it. Messages begin their commands with it. */
  PROGRAM: z.string(),
  /** The runbook's address, without the `#` of a section. Default: its path in the repository. */
  RUNBOOK_URL: z.optional(z.string()),
  /** Allows plain http to a loopback address. Never set in a deployed stack. */
  ALLOW_LOOPBACK: z.optional(z.literal('true')),
});
export type Settings = z.infer<typeof Settings>;

export type SettingName = keyof Settings;

const BUCKET = ['BUCKET', 'BUCKET_OWNER'] as const satisfies SettingName[];
const TARGET = ['PLATFORM_BASE_URL', 'PLATFORM_NAME', 'PLATFORM_REVISION'] as const satisfies SettingName[];
const PLATFORM = [...TARGET, 'ALLOW_LOOPBACK', 'SECRET_PREFIX'] as const satisfies SettingName[];
const OBJECT = [...BUCKET, 'MAX_DOWNLOAD_BYTES'] as const satisfies SettingName[];
const COPY = [...OBJECT, 'DOWNLOAD_HOSTS', 'ALLOW_LOOPBACK'] as const satisfies SettingName[];

export type PlatformSettings = Pick<Settings, (typeof PLATFORM)[number]>;
export type ObjectSettings = Pick<Settings, (typeof OBJECT)[number]>;
export type CopySettings = Pick<Settings, (typeof COPY)[number]>;

/**
 * The settings that each step reads, besides STEP. The stack gives a function these and no others, because
 * Lambda allows 4 KB of environment, and some settings grow with the config.
 */
export const READS = {
  PlanExport: [...BUCKET, ...TARGET, 'GLUE_DATABASE'],
  GetToken: [...BUCKET, 'PLATFORM_BASE_URL', 'ALLOW_LOOPBACK', 'SECRET_PREFIX', 'REFRESH_PARAMETERS'],
  ListAdvertisers: [...PLATFORM, ...BUCKET, 'ADVERTISERS_LIST'],
  CreateReport: [...PLATFORM, ...BUCKET],
  CheckReport: PLATFORM,
  SaveReport: [...PLATFORM, ...COPY],
  QueryPurchases: [...PLATFORM, ...OBJECT],
  ExportList: [...PLATFORM, ...OBJECT],
  CurateReport: [...BUCKET, ...TARGET, 'MAX_CURATE_BYTES', 'GLUE_DATABASE'],
  PublishWindow: [...BUCKET, ...TARGET, 'GLUE_DATABASE'],
  PublishExport: [...BUCKET, 'PROGRAM'],
  DescribeFailure: [...BUCKET, 'RUNBOOK_URL', 'PROGRAM'],
  CheckReady: [...BUCKET, ...TARGET, 'GLUE_DATABASE', 'PROGRAM'],
} as const satisfies Readonly<Record<string, readonly SettingName[]>>;

/**
 * Reads these settings and STEP.
 *
 * @throws ZodError that names each missing setting, because the deployment is faulty then
 */
export function readSettings<N extends SettingName>(
  names: readonly N[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Pick<Settings, N | 'STEP'> {
  const mask = Object.fromEntries(['STEP', ...names].map((name) => [name, true])) as Record<N | 'STEP', true>;
  const picked: z.ZodMiniType = z.pick(Settings, mask as Record<SettingName, true>);
  return picked.parse(environment) as Pick<Settings, N | 'STEP'>;
}

/** Reads a setting that holds a JSON object of strings. Returns an empty object if it is absent. */
export function readSettingObject(text: string | undefined): Readonly<Record<string, string>> {
  return text === undefined ? {} : z.record(z.string(), z.string()).parse(JSON.parse(text));
}
