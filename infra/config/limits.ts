import { type Config, InvalidConfig } from './config.ts';

/** Bytes of names and values together, for each function. */
const MAX_ENVIRONMENT = 4_096;

/** Resources of a stack, as CloudFormation counts them. */
const MAX_RESOURCES = 500;

/** Bytes of a template that CloudFormation reads from S3. */
const MAX_TEMPLATE = 1_000_000;

/** Characters. It ends with a link to the runbook. */
const MAX_ALARM_DESCRIPTION = 1_024;

/** The longest name of a bucket. No other reference in an environment resolves to a longer text. */
const LONGEST_REFERENCE = 63;

/** The variables whose length depends on the config. */
const FIELD_OF: Readonly<Record<string, keyof Config>> = {
  ACCOUNTS: 'accounts',
  DOWNLOAD_HOSTS: 'download_hosts',
  PLATFORM_BASE_URL: 'base_url',
  REFRESH_PARAMETERS: 'refresh_parameters',
  RUNBOOK_URL: 'runbook_url',
};

/** The parts of a synthesized template that the limits depend on. */
interface Template {
  readonly Resources?: Readonly<Record<string, Resource>>;
}

interface Resource {
  readonly Type: string;
  readonly Properties?: {
    readonly AlarmDescription?: string;
    readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> };
  };
}

/**
 * Checks the limits of AWS that a config can exceed. The other limits do not depend on the config.
 *
 * @throws InvalidConfig with the field and the limit
 */
export function checkLimits(template: Template, config: Config): void {
  const resources = Object.values(template.Resources ?? {});
  const faults = [
    ...resources.flatMap(environmentFaults),
    ...alarmFaults(resources),
    ...resourceFaults(resources, config),
    ...templateFaults(template),
  ];
  if (faults.length > 0) throw new InvalidConfig(faults);
}

function environmentFaults({ Properties }: Resource): string[] {
  const variables = Object.entries(Properties?.Environment?.Variables ?? {});
  const sizes = variables.map(([name, value]) => [name, Buffer.byteLength(name) + lengthOf(value)] as const);
  const total = sum(sizes.map(([, size]) => size));
  if (total <= MAX_ENVIRONMENT) return [];
  const [[largest] = ['']] = sizes.filter(([name]) => name in FIELD_OF).sort(([, a], [, b]) => b - a);
  const step = Properties?.Environment?.Variables.STEP;
  return [
    `${FIELD_OF[largest]}: is too long: the environment of the function ${step} has ${total} bytes, and Lambda allows ${MAX_ENVIRONMENT}`,
  ];
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : LONGEST_REFERENCE;
}

function alarmFaults(resources: readonly Resource[]): string[] {
  const lengths = resources.map(({ Properties }) => Properties?.AlarmDescription?.length ?? 0);
  const longest = Math.max(0, ...lengths);
  if (longest <= MAX_ALARM_DESCRIPTION) return [];
  return [
    `runbook_url: is too long: the description of an alarm has ${longest} characters, and CloudWatch allows ${MAX_ALARM_DESCRIPTION}`,
  ];
}

function resourceFaults(
  resources: readonly Resource[],
  { accounts, exports, alarm_emails }: Config,
): string[] {
  if (resources.length <= MAX_RESOURCES) return [];
  const count = (type: string) => resources.filter(({ Type }) => Type === type).length;
  const scheduled = exports.filter(({ schedule }) => schedule).length;
  const shares = [
    { field: 'accounts', share: count('AWS::SecretsManager::Secret'), of: `${accounts.length} accounts` },
    {
      field: 'exports',
      share: count('AWS::Scheduler::Schedule') + count('AWS::CloudWatch::Alarm') + count('AWS::Glue::Table'),
      of: `the alarms, ${scheduled} scheduled exports and ${count('AWS::Glue::Table')} tables`,
    },
    {
      field: 'alarm_emails',
      share: count('AWS::SNS::Subscription'),
      of: `${alarm_emails.length} e-mail addresses`,
    },
  ].sort((a, b) => b.share - a.share);
  const list = shares
    .filter(({ share }) => share > 0)
    .map(({ share, of }) => `${share} for ${of}`)
    .join(', ');
  return [
    `${shares[0]?.field}: has too many entries: the stack has ${resources.length} resources (${list}), and CloudFormation allows ${MAX_RESOURCES}; deploy several stacks`,
  ];
}

/** Only the requests of scheduled exports and the columns of tables can be that large. */
function templateFaults(template: Template): string[] {
  // As CDK writes it.
  const bytes = Buffer.byteLength(JSON.stringify(template, undefined, 1));
  if (bytes <= MAX_TEMPLATE) return [];
  return [
    `exports: the requests of the schedules and the columns of the tables are too long: the template has ${bytes} bytes, and CloudFormation allows ${MAX_TEMPLATE}; deploy several stacks`,
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
