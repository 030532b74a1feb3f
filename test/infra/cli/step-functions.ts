import { onTestFinished, vi } from 'vitest';
import { listen } from '../../support/listen.ts';

export const STATE_MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:exports';
const EXECUTIONS = STATE_MACHINE.replace('stateMachine', 'execution');

/** Fields of DescribeExecution's answer. */
type Description = Readonly<Record<string, unknown>>;

interface Options {
  /** Polls that see a started execution running, before it ends. */
  readonly polls?: number;
  /** Polls that do not see a started execution yet, and later as many that do not see its output. */
  readonly stalePolls?: number;
  /** Earlier executions by name. */
  readonly earlier?: Readonly<Record<string, Description>>;
  /** An operation that is denied. */
  readonly denied?: string;
}

/** The part of Step Functions that the commands use. @param end of every execution that is started */
export async function startStepFunctions(end: Description, options: Options = {}) {
  const { polls = 2, stalePolls = 0, earlier = {}, denied = '' } = options;
  const started: { name: string; input: string; stateMachineArn: string }[] = [];
  let poll = 0;
  const describe = ({ executionArn = '' }: Readonly<Record<string, string>>) => {
    const name = executionArn.split(':').at(-1) ?? '';
    const common = { executionArn, name, stateMachineArn: STATE_MACHINE, startDate: 1 };
    if (earlier[name]) return { ...common, ...earlier[name] };
    if (!started.some((execution) => execution.name === name)) return undefined;
    poll += 1;
    if (poll <= stalePolls) return undefined;
    if (poll <= stalePolls + polls) return { ...common, status: 'RUNNING' };
    const { output, ...withoutOutput } = end;
    return { ...common, ...(poll > stalePolls + polls + stalePolls ? end : withoutOutput) };
  };
  const mapRun = { executionArn: EXECUTIONS, mapRunArn: 'map', stateMachineArn: STATE_MACHINE, startDate: 1 };
  await startFake(denied, {
    StartExecution: ({ name = '', input = '', stateMachineArn = '' }) => {
      started.push({ name, input, stateMachineArn });
      return { executionArn: `${EXECUTIONS}:${name}`, startDate: 1 };
    },
    DescribeExecution: describe,
    ListExecutions: ({ statusFilter }) => {
      const executions = Object.keys(earlier).map((name) =>
        describe({ executionArn: `${EXECUTIONS}:${name}` }),
      );
      return { executions: executions.filter((one) => Object(one).status === statusFilter) };
    },
    ListMapRuns: () => ({ mapRuns: [mapRun] }),
    GetExecutionHistory: () => ({
      events: [{ type: 'TaskStateEntered', timestamp: 1, stateEnteredEventDetails: { name: 'PlanExport' } }],
    }),
    DescribeMapRun: () => ({ mapRunArn: 'map', itemCounts: { total: 9, succeeded: 3, running: 4 } }),
  });
  return { started };
}

type Operations = Readonly<Record<string, (body: Readonly<Record<string, string>>) => object | undefined>>;

/**
 * Serves these operations as Step Functions.
 *
 * @param denied an operation that is not allowed
 * @returns the names of the operations that were called
 */
export async function startFake(denied: string, operations: Operations): Promise<readonly string[]> {
  const called: string[] = [];
  const server = await listen(({ headers, body }, response) => {
    const operation = String(headers['x-amz-target']).split('.')[1] ?? '';
    called.push(operation);
    const answer = operation === denied ? undefined : operations[operation]?.(JSON.parse(body));
    const __type = operation === denied ? 'AccessDeniedException' : 'ExecutionDoesNotExist';
    const status = answer && !Object.hasOwn(answer, '__type') ? 200 : 400;
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(answer ?? { __type }));
  });
  vi.stubEnv('AWS_ENDPOINT_URL_SFN', server.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  onTestFinished(() => server[Symbol.asyncDispose]());
  return called;
}
