import { onTestFinished, vi } from 'vitest';
import { setTarget } from '../../../../infra/operate/place/deployment.ts';
import { OUTPUTS } from '../../../../infra/stack/config/config.ts';
import { listen } from '../../../support/listen.ts';

export const STATE_MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:exports';

/** Options with which a command finds it. */
export const STACK = ['--stack', 'exports'] as const;

/** An execution in the fake Step Functions. Its windows are executions too. */
export interface FakeExecution {
  readonly name: string;
  status: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'ABORTED' | 'TIMED_OUT' | 'PENDING_REDRIVE';
  /** Minutes after 2026-11-21T06:00:00Z. */
  readonly begun: number;
  readonly ended?: number;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
  readonly redriveCount?: number;
  /** Present if its windows have begun. */
  readonly windows?: readonly FakeExecution[];
}

interface Options {
  /** An operation that is denied. */
  readonly denied?: string;
  /** The end of each execution that is started, as fields of DescribeExecution's answer. */
  readonly end?: Readonly<Record<string, unknown>>;
  /** Polls that see a started execution running, before it ends. */
  readonly polls?: number;
  /** The events of every execution. */
  readonly history?: readonly object[];
  /** The error of each poll of a started execution. Default: none. */
  readonly pollError?: string;
}

const START = Date.UTC(2026, 10, 21, 6);

/** Fewer than the tests have, so that they read several pages. */
const PAGE = 2;

/** Epoch seconds, as in an answer of AWS. @param minutes after 2026-11-21T06:00:00Z */
export function at(minutes: number): number {
  return START / 1_000 + minutes * 60;
}

/**
 * Starts a Step Functions with these executions, newest first. Commands find it with {@link STACK}, and
 * functions without.
 */
export async function startExecutions(executions: readonly FakeExecution[], options: Options = {}) {
  await startCloudFormation('exports');
  setTarget({ stack: 'exports' });
  onTestFinished(() => setTarget({}));
  const { denied = '', end = {}, history = [], polls = 2, pollError } = options;
  const started: { name: string; input: string; stateMachineArn: string }[] = [];
  const arnOf = (name: string) => `${STATE_MACHINE.replace('stateMachine', 'execution')}:${name}`;
  const all = executions.flatMap((execution) => [execution, ...(execution.windows ?? [])]);
  const find = (arn: string) => all.find(({ name }) => arn === arnOf(name));
  const item = ({ name, status, begun, ended }: FakeExecution) => ({
    executionArn: arnOf(name),
    name,
    status,
    stateMachineArn: STATE_MACHINE,
    startDate: at(begun),
    ...(ended !== undefined && { stopDate: at(ended) }),
  });
  const page = <T>(items: readonly T[], field: string, token: string | undefined, size = PAGE) => {
    const from = Number(token ?? 0);
    const more = from + size < items.length ? { nextToken: String(from + size) } : {};
    return { [field]: items.slice(from, from + size), ...more };
  };
  let poll = 0;
  const describeStarted = (executionArn: string) => {
    const execution = started.find(({ name }) => arnOf(name) === executionArn);
    if (execution) poll += 1;
    if (!execution || pollError) return undefined;
    const common = { executionArn, name: execution.name, stateMachineArn: STATE_MACHINE, startDate: 1 };
    return poll <= polls ? { ...common, status: 'RUNNING' } : { ...common, ...end };
  };
  const called = await serve(
    { denied, otherwise: pollError ?? 'ExecutionDoesNotExist' },
    {
      StartExecution: ({ name = '', input = '', stateMachineArn = '' }) => {
        started.push({ name, input, stateMachineArn });
        return { executionArn: arnOf(name), startDate: 1 };
      },
      ListExecutions: ({ mapRunArn, statusFilter, nextToken }) => {
        const listed = mapRunArn === undefined ? executions : (find(mapRunArn)?.windows ?? []);
        const filtered = listed.filter(({ status }) => (statusFilter ?? status) === status);
        return page(filtered.map(item), 'executions', nextToken);
      },
      DescribeExecution: ({ executionArn = '' }) => {
        const execution = find(executionArn);
        if (!execution) return describeStarted(executionArn);
        const { input, output, error, cause, redriveCount } = execution;
        const texts = { input: JSON.stringify(input), output: output && JSON.stringify(output) };
        return { ...item(execution), ...texts, error, cause, redriveCount };
      },
      // The fake's Map Run has the ARN of its execution.
      ListMapRuns: ({ executionArn = '' }) => {
        const execution = find(executionArn);
        const hasBegun = execution === undefined || execution.windows !== undefined;
        return { mapRuns: hasBegun ? [{ executionArn, mapRunArn: executionArn, startDate: at(0) }] : [] };
      },
      DescribeMapRun: ({ mapRunArn }) => ({ mapRunArn, itemCounts: { total: 9, succeeded: 3, running: 4 } }),
      GetExecutionHistory: () => ({
        events: history.map((event, at) => ({ id: at + 1, timestamp: START / 1_000, ...event })),
      }),
      StopExecution: ({ executionArn = '' }) => {
        const execution = find(executionArn);
        if (execution) execution.status = 'ABORTED';
        return execution && { stopDate: at(99) };
      },
    },
  );
  return { called, started };
}

type Operations = Readonly<Record<string, (body: Readonly<Record<string, string>>) => object | undefined>>;

/** The part of CloudFormation that commands use, with one stack. @returns `stack Region` of each call */
export async function startCloudFormation(
  stack: string,
  outputs: Readonly<Partial<Record<keyof typeof OUTPUTS, string>>> = { stateMachine: STATE_MACHINE },
  held?: string,
) {
  const members = Object.entries(outputs).map(
    ([name, value]) =>
      `<member><OutputKey>${OUTPUTS[name as keyof typeof OUTPUTS]}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  const calls: string[] = [];
  const service = await listen(({ headers, body }, response) => {
    const [, region] = /Credential=\w+\/\d+\/([\w-]+)\//.exec(String(headers.authorization)) ?? [];
    const call = new URLSearchParams(body);
    if (call.get('PhysicalResourceId') === `/aws/vendedlogs/states/${held}`) {
      const members = `<member><StackName>${stack}</StackName></member>`;
      response.writeHead(200, { 'content-type': 'text/xml' });
      return void response.end(
        `<DescribeStackResourcesResponse><DescribeStackResourcesResult><StackResources>${members}</StackResources></DescribeStackResourcesResult></DescribeStackResourcesResponse>`,
      );
    }
    const name = call.get('StackName');
    calls.push(`${name} ${region}`);
    response.writeHead(name === stack ? 200 : 400, { 'content-type': 'text/xml' });
    response.end(
      name === stack
        ? `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName>
           <CreationTime>2026-11-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>
           ${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
        : '<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>',
    );
  });
  vi.stubEnv('AWS_ENDPOINT_URL_CLOUDFORMATION', service.url);
  vi.stubEnv('AWS_REGION', 'us-east-2');
  onTestFinished(() => service[Symbol.asyncDispose]());
  return calls;
}

/** Serves these operations until the test ends. @returns the names of the operations that were called */
async function serve(
  { denied, otherwise }: { readonly denied: string; readonly otherwise: string },
  operations: Operations,
): Promise<readonly string[]> {
  const called: string[] = [];
  const server = await listen(({ headers, body }, response) => {
    const operation = String(headers['x-amz-target']).split('.')[1] ?? '';
    called.push(operation);
    const answer = operation === denied ? undefined : operations[operation]?.(JSON.parse(body));
    const __type = operation === denied ? 'AccessDeniedException' : otherwise;
    response.writeHead(answer ? 200 : 400, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(answer ?? { __type, message: `User x may not call ${operation}.` }));
  });
  vi.stubEnv('AWS_ENDPOINT_URL_SFN', server.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  onTestFinished(() => server[Symbol.asyncDispose]());
  return called;
}
