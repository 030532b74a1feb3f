import type { AwsCli } from './aws-cli.ts';
import type { PolicyName } from './observer/context.ts';
import { until } from './until.ts';

/** The policy with which each command runs. What has none calls nothing of AWS. */
export const POLICY_OF: Readonly<Record<string, PolicyName | undefined>> = {
  plan: 'operator',
  run: 'operator',
  resume: 'operator',
  status: 'operator',
  missing: 'operator',
  check: 'operator',
  page: 'operator',
  explain: 'operator',
  stop: 'operator',
  contract: 'operator',
  query: 'reader',
  dbt: 'reader',
  close: 'keeper',
  rebuild: 'keeper',
  doctor: 'keeper',
  login: 'keeper',
  secret: 'keeper',
  init: undefined,
  sandbox: undefined,
};

/** A session lasts an hour. */
const RENEW_AFTER = 45 * 60_000;

type Environment = Readonly<Record<string, string>>;

export type Sessions = ReturnType<typeof createSessions>;

/** Lets each command run with one policy, and nothing else, once the roles with the policies are there. */
export function createSessions({ call }: AwsCli) {
  let roles: Readonly<Record<PolicyName, string>> | undefined;
  const open = new Map<PolicyName, { readonly since: number; readonly env: Promise<Environment> }>();

  async function assume(role: string): Promise<Environment> {
    let refusal = '';
    const ask = () =>
      call(['sts', 'assume-role', '--role-arn', role, '--role-session-name', 'rehearsal']).catch(
        ({ message }: Error) => {
          refusal = message;
          return undefined;
        },
      );
    // IAM takes some seconds until everybody knows a new role. The root user can assume none.
    const session = await until('the role can be assumed', ask, 2).catch((error: Error) => {
      throw new Error(`${error.message}\n${refusal}`);
    });
    const { AccessKeyId, SecretAccessKey, SessionToken } = session.Credentials;
    return {
      AWS_ACCESS_KEY_ID: AccessKeyId,
      AWS_SECRET_ACCESS_KEY: SecretAccessKey,
      AWS_SESSION_TOKEN: SessionToken,
    };
  }

  const sessions = {
    /** @param arns the role of each policy; undefined if they are gone */
    use(arns: Readonly<Record<PolicyName, string>> | undefined): void {
      roles = arns;
      open.clear();
    },
    /** @returns the environment of whoever has this policy only; empty before the roles are there */
    async as(policy: PolicyName): Promise<Environment> {
      if (!roles) return {};
      const session = open.get(policy);
      if (session && Date.now() - session.since < RENEW_AFTER) return session.env;
      const env = assume(roles[policy]);
      open.set(policy, { since: Date.now(), env });
      return env;
    },
    /** @param command such as `run` */
    async forCommand(command: string): Promise<Environment> {
      const policy = POLICY_OF[command];
      return policy === undefined ? {} : sessions.as(policy);
    },
  };
  return sessions;
}
