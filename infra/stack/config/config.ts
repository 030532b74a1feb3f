import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { LARGEST_OBJECT_BYTES } from '../../../functions/copy/parts.ts';
import { checkUrl } from '../../../functions/platform/safe-hosts.ts';
import { DEFAULT_ACCOUNTS, MAX_ACCOUNTS } from '../../../functions/workflow/request/accounts.ts';
import { date, name, path } from '../../../functions/workflow/request/fields.ts';
import { nameFaults, wordIssue } from '../../../functions/workflow/request/issues.ts';
import { ListInput } from '../../../functions/workflow/request/list.ts';
import { exportFaults } from './export-faults.ts';
import {
  Account,
  type Accounts,
  type ConfiguredExport,
  ExportOfAccounts,
  expandExport,
  FINAL_AFTER_DAYS,
  FinalAfterDays,
} from './exports.ts';
import { MAX_MEMORY_MB, MEMORY_MB, type StepName } from './memory.ts';
import { SANDBOX, sandboxFaults } from './sandbox-config.ts';

/** The key of the config in cdk.json's context. */
export const CONFIG_KEY = 'ad-report-export';

/**
 * Names of the stack's outputs. Commands use them to find the deployed resources. The prefix keeps them apart
 * from the outputs of a stack of the caller.
 */
export const OUTPUTS = {
  stateMachine: 'AdReportExportStateMachineArn',
  bucket: 'AdReportExportBucketName',
  deadLetterQueue: 'AdReportExportDeadLetterQueueUrl',
  alarmTopic: 'AdReportExportAlarmTopicArn',
  operatorPolicy: 'AdReportExportOperatorPolicyArn',
  keeperPolicy: 'AdReportExportKeeperPolicyArn',
  /** Absent in a stack whose runs have no time by which they must be ready. */
  readyChecks: 'AdReportExportReadyChecksArn',
  /** Absent unless the platform is the sandbox. */
  sandboxUrl: 'AdReportExportSandboxUrl',
  /** Absent, like the next ones, in a stack without tables. */
  workgroup: 'AdReportExportAthenaWorkgroup',
  database: 'AdReportExportGlueDatabase',
  readerPolicy: 'AdReportExportReaderPolicyArn',
} as const;

/** The log group of a stack's executions. CloudFormation finds a stack of any name by it. */
export function executionLogsOf(stack: string): string {
  return `/aws/vendedlogs/states/${stack}`;
}

/** Athena stores the result of each query under this prefix. */
export const RESULTS_PREFIX = 'query-results/';

/** The default size limit of a file: 50 GiB. */
const DEFAULT_DOWNLOAD_BYTES = 50 * 1024 ** 3;

/** The default size limit of a file that CurateReport reads: 4 GiB, which take a minute of CPU. */
const DEFAULT_CURATE_BYTES = 4 * 1024 ** 3;

/**
 * Lambda's /tmp has up to 10,240 MB. CurateReport needs room for the file twice and 512 MB besides:
 * (10,240 - 512) / 2 = 4,864 MB.
 */
const MAX_CURATE_BYTES = 4_864 * 1024 ** 2;

/** Lambda's maximum. The last minute is for saying that the time is over. */
const MAX_CURATE_MINUTES = 15;

const STEPS = Object.keys(MEMORY_MB) as StepName[];

const DEFAULT_LOG_RETENTION_DAYS = 90;

/** The values that CloudWatch Logs accepts, checked against CDK's type. Loading CDK would be slow. */
const RETENTIONS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const satisfies readonly RetentionDays[];

const Host = z
  .string()
  .regex(
    /^(\*\.)?([a-z0-9-]+\.)+[a-z0-9-]+$/i,
    'must be a host name, such as files.platform.example or *.platform.example',
  );

/** The export sends these parameters of a refresh itself. A secret here would also end up in the template. */
const NOT_OURS = /^(?!(grant_type|refresh_token|client_secret)$)/;

/** The config as cdk.json has it, without its defaults. infra/CONFIG.md describes each field. */
export const ConfigFile = z.strictObject({
  stack: z
    .string()
    // In lower case, as its Glue database is: the stacks Ads and ads would share one.
    .regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be 1 to 63 characters of a-z, 0-9 and -, the first a letter')
    .default('ad-report-export'),
  base_url: z
    .string()
    .superRefine(checkBaseUrl)
    .transform((url) => url.replace(/\/+$/, '')),
  revision: date,
  accounts: z
    .record(name, Account)
    .refine((accounts) => Object.keys(accounts).length > 0, 'must not be empty')
    // Without a prototype, because an account may be called `constructor`.
    .transform((accounts): Accounts => Object.assign(Object.create(null), accounts)),
  max_accounts: z.int().min(1).max(MAX_ACCOUNTS).default(DEFAULT_ACCOUNTS),
  exports: z.array(ExportOfAccounts).default([]),
  tables: z.boolean().default(true),
  advertisers_list: z
    .strictObject({ resource: ListInput.shape.resource, items: path, id: z.string().min(1) })
    .partial()
    .optional(),
  final_after_days: FinalAfterDays.default(FINAL_AFTER_DAYS),
  refresh_parameters: z
    .record(z.string().regex(NOT_OURS, 'must not be set here: the export sends it itself'), z.string())
    .optional(),
  keep_reports_days: z.int().min(7).optional(),
  max_download_bytes: z.int().min(1).max(LARGEST_OBJECT_BYTES).default(DEFAULT_DOWNLOAD_BYTES),
  max_curate_bytes: z.int().min(1).max(MAX_CURATE_BYTES).default(DEFAULT_CURATE_BYTES),
  memory_mb: z.partialRecord(z.enum(STEPS), z.int().max(MAX_MEMORY_MB)).superRefine(checkMemory).default({}),
  curate_minutes: z
    .number()
    .multipleOf(1, 'must be whole minutes')
    .min(2)
    .max(MAX_CURATE_MINUTES)
    .default(MAX_CURATE_MINUTES),
  download_hosts: z.array(Host).min(1, 'must not be empty; omit it to allow any public host').optional(),
  log_retention_days: z
    .literal(RETENTIONS, `must be one of ${RETENTIONS.join(', ')}`)
    .default(DEFAULT_LOG_RETENTION_DAYS),
  alarm_emails: z
    .array(z.email('must be an e-mail address'))
    .refine((all) => new Set(all).size === all.length, 'must not repeat an address')
    .default([]),
  runbook_url: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
  kms_key: z.literal('create', 'must be "create"; a key of yours is the prop encryptionKey').optional(),
});

/** The config of a deployment, as it is written. */
export type ConfigInput = z.input<typeof ConfigFile>;

/** The config of a deployment. */
export type Config = Readonly<Omit<z.infer<typeof ConfigFile>, 'exports'>> & {
  /** Each export of each account. */
  readonly exports: readonly ConfiguredExport[];
};

/** The message lists every fault, one per line. */
export class InvalidConfig extends Error {
  override readonly name = 'InvalidConfig';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(['the config cannot be deployed:', ...faults].join('\n  '));
    this.faults = faults;
  }
}

/** @throws InvalidConfig with every fault, also with the faults of the exports' requests */
export function parseConfig(context: unknown): Config {
  const parsed = ConfigFile.safeParse(context, { error: wordIssue });
  const issues = parsed.error?.issues ?? [];
  const faults = [
    ...issues.flatMap((issue) =>
      nameFaults(issue, 'the config', 'is not a setting', Object.keys(ConfigFile.shape)),
    ),
    ...exportFaults(context),
    ...(Object(context).base_url === SANDBOX ? sandboxFaults(context) : []),
  ];
  if (!parsed.success || faults.length > 0) throw new InvalidConfig([...new Set(faults)]);
  const { exports, accounts } = parsed.data;
  return { ...parsed.data, exports: exports.flatMap((entry) => expandExport(entry, accounts)) };
}

/** With less than its default, a step may fail for some request. */
function checkMemory(
  sizes: Readonly<Partial<Record<StepName, number>>>,
  context: z.core.$RefinementCtx<object>,
): void {
  for (const step of STEPS)
    if ((sizes[step] ?? MEMORY_MB[step]) < MEMORY_MB[step])
      context.addIssue({ code: 'custom', path: [step], message: `must be at least ${MEMORY_MB[step]}` });
}

/** Refuses plain http and loopback. The local run allows them: it replaces base_url after this check. */
function checkBaseUrl(text: string, context: z.core.$RefinementCtx<string>): void {
  if (text === SANDBOX) return;
  if (/[?#]/.test(text)) context.addIssue('must have neither a query nor a fragment');
  try {
    checkUrl(text, { allowLoopback: false });
  } catch (error) {
    context.addIssue((error as Error).message.split('\n', 1)[0] ?? '');
  }
}
