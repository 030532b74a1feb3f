import { readFileSync } from 'node:fs';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { checkUrl } from '../functions/platform/safe-hosts.ts';
import { isCalendarDate, isTimeZone } from '../functions/workflow/request/dates.ts';
import { exportFaults } from './config-exports.ts';
import { isCron } from './schedule-gap.ts';

/** Where cdk.json's context holds the config. */
export const CONFIG_KEY = 'ad-report-export';

const CDK_JSON = new URL('../cdk.json', import.meta.url);

/** The largest file that is copied, unless the config says otherwise: 50 GiB. */
const MAX_DOWNLOAD_BYTES = 50 * 1024 ** 3;

/** S3 takes 10,000 parts, and a part has 8 MiB: 78 GiB. */
const LARGEST_DOWNLOAD_BYTES = 10_000 * 8 * 1024 ** 2;

const LOG_RETENTION_DAYS = 90;

/** CloudWatch Logs takes no others, but for ever. The compiler holds each to CDK's; loading CDK would slow every command. */
const RETENTIONS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const satisfies readonly RetentionDays[];

const Account = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit');

const Host = z
  .string()
  .regex(
    /^(\*\.)?([a-z0-9-]+\.)+[a-z0-9-]+$/i,
    'must be a host name, such as files.platform.example or *.platform.example',
  );

/** When EventBridge Scheduler starts an export. */
const Schedule = z.strictObject({
  expression: z
    .string()
    .regex(/^(cron\(([^\s()]+ ){5}[^\s()]+\)|rate\([1-9]\d* (minute|hour|day)s?\))$/, {
      error: 'must be cron(...) of six fields, or rate(...) in minutes, hours or days',
      abort: true,
    })
    .refine(
      (text) => !text.startsWith('cron(') || isCron(text),
      'must be minute, hour, day of month, month, day of week and year, one of the two days being ?',
    ),
  time_zone: z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin').optional(),
});

/** Parameters of a refresh that would replace ours, or stand in the template and be a secret. */
const NOT_OURS = /^(?!(grant_type|refresh_token|client_secret)$)/;

const KEY_ARN = /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/;

const Config = z.strictObject({
  stack: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,62}$/, 'must be 1 to 63 letters, digits and -, the first a letter')
    .default('ad-report-export'),
  base_url: z
    .string()
    .superRefine(checkBaseUrl)
    .transform((url) => url.replace(/\/+$/, '')),
  revision: z.string().refine(isCalendarDate, 'must be a date that exists, written YYYY-MM-DD'),
  accounts: z.array(Account).min(1, 'must not be empty').refine(isDistinct, 'must not repeat a name'),
  exports: z.array(z.looseObject({ schedule: Schedule.optional() })).default([]),
  /** Accounts whose credential is an API key, so that the synth can warn of its end (contract 9.6). */
  legacy_api_key_accounts: z.array(Account).optional(),
  /** Sent with a refresh beside what RFC 6749 names, since the contract shows nothing (contract 4.1). */
  refresh_parameters: z
    .record(z.string().regex(NOT_OURS, 'is sent by the export itself, or is a secret'), z.string())
    .optional(),
  reserve_token_concurrency: z.boolean().default(true),
  max_download_bytes: z.int().min(1).max(LARGEST_DOWNLOAD_BYTES).default(MAX_DOWNLOAD_BYTES),
  download_hosts: z.array(Host).min(1, 'must not be empty; leave it out to allow any public host').optional(),
  log_retention_days: z
    .literal(RETENTIONS, `must be one of ${RETENTIONS.join(', ')}`)
    .default(LOG_RETENTION_DAYS),
  /** Who is told when an alarm goes off. */
  alarm_emails: z
    .array(z.email('must be an e-mail address'))
    .refine(isDistinct, 'must not repeat an address')
    .default([]),
  /** Where the runbook can be read, for the links of alarms and failures; absent: its path in the repository. */
  runbook_url: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
  /** `create`, or the ARN of a key; absent: keys that AWS manages, at no monthly cost. */
  kms_key: z
    .string()
    .refine((text) => text === 'create' || KEY_ARN.test(text), 'must be "create" or the ARN of a KMS key')
    .optional(),
});

export type Schedule = z.infer<typeof Schedule>;

/** A request by its name, as an execution gets it, and when it is started by itself. */
export interface ConfiguredExport {
  readonly name: string;
  readonly account: string;
  readonly schedule?: Schedule | undefined;
  readonly [field: string]: unknown;
}

/** What a deployment is made of; see the README's table. */
export type Config = Readonly<Omit<z.infer<typeof Config>, 'exports'>> & {
  readonly exports: readonly ConfiguredExport[];
};

/** The config cannot be deployed; the message names every fault, one a line. */
export class InvalidConfig extends Error {
  override readonly name = 'InvalidConfig';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super([`The context key ${CONFIG_KEY} of cdk.json cannot be deployed:`, ...faults].join('\n  '));
    this.faults = faults;
  }
}

/**
 * cdk.json's context: the config, and the feature flags that a synth outside the CDK CLI needs as well.
 *
 * @throws InvalidConfig where it is not JSON
 */
export function readContext(): Readonly<Record<string, unknown>> {
  const text = readFileSync(CDK_JSON, 'utf8');
  try {
    return JSON.parse(text).context ?? {};
  } catch (error) {
    throw new InvalidConfig([`it is not JSON: ${(error as Error).message}`]);
  }
}

/** @throws InvalidConfig with every fault */
export function readConfig(): Config {
  return parseConfig(readContext()[CONFIG_KEY]);
}

/** @throws InvalidConfig with every fault, those of the exports' requests included */
export function parseConfig(context: unknown): Config {
  const parsed = Config.safeParse(context, { reportInput: true });
  const faults = [
    ...(parsed.error?.issues ?? []).flatMap(describeIssue),
    ...exportFaults(context),
    ...legacyAccountFaults(context),
  ];
  if (!parsed.success || faults.length > 0) throw new InvalidConfig(faults);
  return { ...parsed.data, exports: parsed.data.exports.map(inItsTimeZone) };
}

/**
 * "Yesterday" is the one of the schedule's time zone, unless the request names another. The entry's fields have been
 * checked as a request's.
 */
function inItsTimeZone(entry: z.infer<typeof Config>['exports'][number]): ConfiguredExport {
  const { time_zone } = entry.schedule ?? {};
  return { ...(time_zone && { time_zone }), ...entry } as ConfiguredExport;
}

/** A name that is nobody's would warn of no key. Looked at on the raw config, as the exports are. */
function legacyAccountFaults(context: unknown): string[] {
  const { legacy_api_key_accounts: legacy, accounts } = Object(context) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(legacy) || !Array.isArray(accounts)) return [];
  return legacy.flatMap((name, at) =>
    accounts.includes(name)
      ? []
      : [`legacy_api_key_accounts[${at}]: ${name} is not one of accounts (${accounts.join(', ')})`],
  );
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

/** Why the platform cannot be there. Plain http and loopback are for the local run, which builds its config itself. */
function checkBaseUrl(text: string, context: z.core.$RefinementCtx<string>): void {
  if (/[?#]/.test(text)) context.addIssue('must have neither a query nor a fragment');
  try {
    checkUrl(text, { allowLoopback: false });
  } catch (error) {
    context.addIssue((error as Error).message.split('\n', 1)[0] ?? '');
  }
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${path}.${key}: is not a setting`.slice(1));
  }
  const missing = issue.code === 'invalid_type' && issue.input === undefined;
  return [`${path.slice(1) || 'the config'}: ${missing ? 'is missing' : issue.message}`];
}
