import { Stack, Token, TokenComparison } from 'aws-cdk-lib';
import type { IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IDatabaseRef } from 'aws-cdk-lib/aws-glue';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { FunctionOptions } from 'aws-cdk-lib/aws-lambda';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct, IConstruct } from 'constructs';
import { PROGRAM } from '../../package.ts';
import { type Config, type ConfigInput, InvalidConfig, parseConfig } from '../config/config.ts';
import { SANDBOX } from '../config/sandbox-config.ts';
import type { DeployedSandbox } from '../sandbox/deployed-sandbox.ts';

export interface AdReportExportProps {
  /** The accounts, exports and settings. infra/CONFIG.md describes each field. */
  readonly config: ConfigInput;
  /** Default: a bucket is created, and stays when the stack is deleted. */
  readonly bucket?: IBucket;
  /** Encrypts everything that is stored. Default: the keys that AWS manages, or one by `kms_key`. */
  readonly encryptionKey?: IKey;
  /** The alarms and the messages of `ready_by` go there. Default: a topic is created. */
  readonly alarmTopic?: ITopic;
  /** The tables are created there. Default: a database is created. */
  readonly database?: IDatabaseRef;
  /** The functions run there. They need a way to the platform. Default: in no VPC. */
  readonly vpc?: IVpc;
  /** Default: the private subnets of the VPC. */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Replaces `memory_mb` of CurateReport, and `curate_minutes`. The limits are the same, and the timeout must
   * be whole minutes.
   */
  readonly curateReport?: Pick<FunctionOptions, 'memorySize' | 'timeout'>;
  /** The platform of a config whose `base_url` is "sandbox". It has the bucket of the exports, too. */
  readonly sandbox?: DeployedSandbox;
  /**
   * The program of the command line. Mails, events and failure reports begin their commands with it. Default:
   * `npx --no-install ad-report-export`. A program that downloads runs a stranger's code: nobody owns the
   * package's name in npm's registry.
   */
  readonly command?: string;
}

/**
 * Reads the config, and the program of the command line.
 *
 * @throws InvalidConfig with every fault of the config
 */
export function parseProps({ command = PROGRAM, ...props }: AdReportExportProps) {
  return { config: parseWithCurateReport(props), program: command };
}

/**
 * Parses the config with the settings of the prop `curateReport`.
 *
 * @throws InvalidConfig with every fault. Faults of the prop name it
 */
function parseWithCurateReport({ config, curateReport }: AdReportExportProps): Config {
  const { memorySize, timeout } = curateReport ?? {};
  const settings = {
    ...config,
    ...(memorySize !== undefined && { memory_mb: { ...config.memory_mb, CurateReport: memorySize } }),
    ...(timeout && { curate_minutes: timeout.toMinutes({ integral: false }) }),
  };
  const fields = new Map<string, string>();
  if (memorySize !== undefined) fields.set('memory_mb.CurateReport', 'curateReport.memorySize');
  if (timeout) fields.set('curate_minutes', 'curateReport.timeout');
  try {
    return parseConfig(settings);
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const faults = error.faults.map((fault) => {
      const [setting = ''] = fault.split(':', 1);
      const field = fields.get(setting);
      return field === undefined ? fault : fault.replace(setting, `${field} (${setting})`);
    });
    throw new InvalidConfig(faults);
  }
}

/** An export in the same app. */
interface PlacedExport extends IConstruct {
  readonly name: string;
  /** One that failed has none. */
  readonly bucket?: IBucket;
}

/**
 * @throws InvalidConfig if an export is in the same stack, has the same bucket, or would be deployed under
 *   the same names
 */
export function refuseCollisions(
  added: PlacedExport,
  all: readonly PlacedExport[],
  bucket: IBucket | undefined,
): void {
  const addedStack = Stack.of(added);
  const faults = all.flatMap((existing) => {
    const stack = Stack.of(existing);
    if (existing === added) return [];
    if (stack === addedStack)
      return [
        `${added.node.path}: its stack already has ${existing.node.path}; give each a stack of its own`,
      ];
    if (bucket !== undefined && bucket.bucketName === existing.bucket?.bucketName)
      return [
        `bucket: ${added.node.path} and ${existing.node.path} cannot share one, because their keys are the same`,
      ];
    const isElsewhere =
      Token.compareStrings(stack.account, addedStack.account) === TokenComparison.DIFFERENT ||
      Token.compareStrings(stack.region, addedStack.region) === TokenComparison.DIFFERENT;
    if (existing.name !== added.name || isElsewhere) return [];
    return [
      `stack: ${added.node.path} and ${existing.node.path} are both called ${existing.name}, and their names would collide; give one another name, or give their stacks different env`,
    ];
  });
  if (faults.length > 0) throw new InvalidConfig(faults);
}

/** A message has room for it, and for the rest of its command. */
const MAX_COMMAND = 100;

/** @throws InvalidConfig with every fault of the props, and of settings that they replace */
export function refuseFaults(scope: Construct, config: Config, props: AdReportExportProps): void {
  const { bucket, encryptionKey, alarmTopic, command } = props;
  const { region, account } = Stack.of(scope);
  const faults = Object.entries({ bucket, encryptionKey, alarmTopic }).flatMap(([name, resource]) =>
    resource && Token.compareStrings(resource.env.region, region) === TokenComparison.DIFFERENT
      ? [`${name}: belongs to ${resource.env.region}, and the stack to ${region}`]
      : [],
  );
  if (bucket && Token.compareStrings(bucket.env.account, account) === TokenComparison.DIFFERENT)
    faults.push(`bucket: belongs to the AWS account ${bucket.env.account}, and the stack to ${account}`);
  if (command !== undefined && !(command.length <= MAX_COMMAND && /^\S(.*\S)?$/.test(command)))
    faults.push(`command: must be a line of 1 to ${MAX_COMMAND} characters, without blanks around it`);
  faults.push(...findSandboxFaults(config, props));
  if (encryptionKey && config.kms_key) faults.push('kms_key: cannot be combined with encryptionKey');
  if (alarmTopic && config.alarm_emails.length > 0)
    faults.push('alarm_emails: cannot be combined with alarmTopic; subscribe the addresses to that topic');
  if (bucket && !(bucket instanceof Bucket) && config.keep_reports_days !== undefined)
    faults.push(
      'keep_reports_days: needs a bucket of this app; give yours a rule for exports/ with the tag kind=file',
    );
  if (faults.length > 0) throw new InvalidConfig(faults);
}

function findSandboxFaults({ base_url }: Config, { sandbox }: AdReportExportProps): string[] {
  if (base_url === SANDBOX && !sandbox)
    return [`base_url: "${SANDBOX}" needs the prop sandbox; addSandboxStacks makes both stacks`];
  if (base_url !== SANDBOX && sandbox) return [`sandbox: needs the base_url "${SANDBOX}" in the config`];
  return [];
}
