import { ACCOUNTS, SOON } from '../config.ts';
import type { Processes } from '../processes.ts';
import type { Project } from '../project.ts';
import { AWS_ACCOUNT, AWS_REGION, EMULATOR, startCloud } from './cloud.ts';
import { PLATFORM, startPlatform } from './platform.ts';
import type { Target } from './target.ts';

const NOT_SHOWN = [
  ['the roles of state machines and schedules', 'the emulator acts for them without IAM'],
  ['logs, their permissions and retention; traces', 'the emulator has nothing in them'],
  [
    'alarms, the dead-letter queue',
    'the emulator keeps alarms without evaluating them, and repeats no start',
  ],
  ['a redrive', 'the emulator has no RedriveExecution'],
  ['arm64; memory, storage, time and concurrency of functions', 'they are processes of this machine'],
  ['keys of KMS, Lake Formation, VPC endpoints', 'the emulator evaluates no policy of theirs'],
  ['quotas, the lifecycle of objects', 'the emulator has neither'],
  ['the SQL and speed of Athena', 'DuckDB runs the queries'],
  ['that a stop ends the windows too', 'the emulator lets them run on'],
  ['15 minutes between two checks of ready_by', 'they are one minute here'],
  [
    "the names in the platform's certificates",
    'its hosts are this machine, with a certificate for localhost',
  ],
] as const;

export interface Emulation {
  readonly processes: Processes;
  /** Has CDK. */
  readonly project: Project;
}

/**
 * Starts the emulator, and makes it the AWS of this process and its children.
 *
 * @returns what differs there
 */
export async function startEmulator({ processes, project }: Emulation) {
  const credentials = ACCOUNTS.map((account) => ({ account }));
  const { sandbox, ports } = await startPlatform({ credentials, report: SOON });
  const refusals = await startCloud(processes, ports);
  const clientOf = (account: string) => {
    const credential = sandbox.credentials.find((candidate) => candidate.account === account);
    const { clientId: client_id = '', clientSecret: client_secret = '' } = credential ?? {};
    return { client_id, client_secret };
  };
  return {
    account: AWS_ACCOUNT,
    region: AWS_REGION,
    isComplete: false,
    proved: [],
    notShown: NOT_SHOWN,
    platform: { baseUrl: `https://${PLATFORM}`, clientOf, sandbox },
    versions: {
      emulator: `${EMULATOR}, ${(await processes.run('python3', ['--version'])).trim()}`,
    },
    refusals,
    async bootstrap() {
      // In a folder without a cdk.json, so that it synthesizes nothing.
      await project.cdk(['bootstrap', `aws://${AWS_ACCOUNT}/${AWS_REGION}`], processes.folder);
      return "CDK's roles and bucket";
    },
  } satisfies Target;
}
