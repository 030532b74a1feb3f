import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../infra/local/loopback.ts';
import { TaskError } from '../../infra/local/task-error.ts';

/** The function whose runtime client calls this Runtime API. */
export interface ServedFunction {
  readonly arn: string;
  /** Epoch ms at which an invocation that starts now times out. */
  readonly deadline: () => number;
}

/** Lambda's Runtime API, version 2018-06-01, for one function. */
export interface RuntimeApi extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
  /** @throws TaskError with the `errorType` that the client reports, and the client's JSON as its cause */
  invoke(event: unknown): Promise<unknown>;
  /** Fails every invocation, because the client's process has ended or could not load the function. */
  fail(error: TaskError): void;
}

interface Invocation extends PromiseWithResolvers<unknown> {
  readonly event: string;
}

const PATH = /^\/2018-06-01\/runtime\/(init|invocation)\/([\w-]+)(?:\/(response|error))?$/;

export async function startRuntimeApi({ arn, deadline }: ServedFunction): Promise<RuntimeApi> {
  const invocations = new Map<string, Invocation>();
  const queued: string[] = [];
  let idle: ServerResponse | undefined;
  let broken: TaskError | undefined;
  let count = 0;

  const sendNext = () => {
    const id = idle && queued.shift();
    if (!idle || id === undefined) return;
    idle.writeHead(200, {
      'lambda-runtime-aws-request-id': id,
      'lambda-runtime-deadline-ms': deadline(),
      'lambda-runtime-invoked-function-arn': arn,
      'lambda-runtime-trace-id': 'Root=1-00000000-000000000000000000000000;Sampled=0',
    });
    idle.end(invocations.get(id)?.event);
    idle = undefined;
  };
  const fail = (error: TaskError) => {
    broken = error;
    for (const { reject } of invocations.values()) reject(error);
    invocations.clear();
  };
  const receive = (id: string, isError: boolean, body: string) => {
    const invocation = invocations.get(id);
    invocations.delete(id);
    if (isError) invocation?.reject(toTaskError(body));
    else invocation?.resolve(JSON.parse(body));
  };

  const server = createServer(async (request, response) => {
    const [, resource, id = '', result] = PATH.exec(request.url ?? '') ?? [];
    if (resource === 'invocation' && id === 'next') {
      idle = response;
      return sendNext();
    }
    const body = await text(request);
    if (resource === 'init') fail(toTaskError(body));
    else receive(id, result === 'error', body);
    response.writeHead(202).end();
  });
  const { address, close } = await listenOnLoopback(server, 0);
  const invoke = (event: unknown) => {
    if (broken) return Promise.reject(broken);
    const id = `invocation-${++count}`;
    const invocation = { event: JSON.stringify(event), ...Promise.withResolvers<unknown>() };
    invocations.set(id, invocation);
    queued.push(id);
    sendNext();
    return invocation.promise;
  };
  return { address, invoke, fail, [Symbol.asyncDispose]: close };
}

/** Step Functions takes the Error from `errorType`, and the whole document as the Cause. */
function toTaskError(body: string): TaskError {
  return new TaskError({ error: String(JSON.parse(body).errorType), cause: body });
}
