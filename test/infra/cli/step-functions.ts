import { onTestFinished, vi } from 'vitest';
import { listen } from '../../support/listen.ts';

export const STATE_MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:exports';

/** What DescribeExecution says of an execution, beside its name. */
type Described = Readonly<Record<string, unknown>>;

/**
 * Step Functions, as far as a command speaks to it; what is started runs for `polls` looks and then ends.
 *
 * @param behind looks at which what was started is not there yet, and as many at which its output is not
 * @param refuses an operation that the credentials in use may not
 * @param former executions that there were before, by name; there are no others
 */
export async function startStepFunctions(
  end: Described,
  {
    polls = 2,
    behind = 0,
    former = {},
    refuses = '',
  }: {
    polls?: number;
    behind?: number;
    former?: Readonly<Record<string, Described>>;
    refuses?: string;
  } = {},
) {
  const started: { name: string; input: string; stateMachineArn: string }[] = [];
  const executions = STATE_MACHINE.replace('stateMachine', 'execution');
  let looks = 0;
  const describe = ({ executionArn }: { executionArn: string }) => {
    const name = executionArn.split(':').at(-1) ?? '';
    const about = { executionArn, name, stateMachineArn: STATE_MACHINE, startDate: 1 };
    if (former[name]) return { ...about, ...former[name] };
    if (!started.some((execution) => execution.name === name)) return undefined;
    looks += 1;
    if (looks <= behind) return undefined;
    if (looks <= behind + polls) return { ...about, status: 'RUNNING' };
    const { output, ...ended } = end;
    return { ...about, ...(looks > behind + polls + behind ? end : ended) };
  };
  const server = await listen(({ headers, body }, response) => {
    const operation = String(headers['x-amz-target']).split('.')[1];
    const answers: Record<string, () => unknown> = {
      StartExecution: () => {
        const input = JSON.parse(body);
        started.push(input);
        return { executionArn: `${executions}:${input.name}`, startDate: 1 };
      },
      DescribeExecution: () => describe(JSON.parse(body)),
      ListMapRuns: () => ({
        mapRuns: [
          { executionArn: executions, mapRunArn: 'map', stateMachineArn: STATE_MACHINE, startDate: 1 },
        ],
      }),
      DescribeMapRun: () => ({ mapRunArn: 'map', itemCounts: { total: 9, succeeded: 3, running: 4 } }),
    };
    const isRefused = operation === refuses;
    const answer = isRefused ? undefined : answers[operation ?? '']?.();
    const __type = isRefused ? 'AccessDeniedException' : 'ExecutionDoesNotExist';
    response.writeHead(answer ? 200 : 400, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(answer ?? { __type }));
  });
  vi.stubEnv('AWS_ENDPOINT_URL_SFN', server.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server[Symbol.asyncDispose]();
  });
  return { started };
}
