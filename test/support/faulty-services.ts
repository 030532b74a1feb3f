import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as open, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { startGlue } from '../../infra/lab/local/glue.ts';
import { errorXml, readXml, S3Error } from '../../infra/lab/local/s3/answers.ts';
import { readAddress } from '../../infra/lab/local/s3/call.ts';
import { startSecretsManager } from '../../infra/lab/local/secrets-manager.ts';
import { startServer } from './listen.ts';

/** The statuses of errors that the local services never give. */
const STATUS: Readonly<Record<string, number>> = {
  ConditionalRequestConflict: 409,
  InternalServiceError: 500,
  InternalServiceException: 500,
  InvalidRange: 416,
  SlowDown: 503,
};

/** Makes calls of a service fail. */
export interface Fault {
  readonly operation: string;
  /** Only this part number. */
  readonly part?: number;
  /** Only objects whose key ends like this. */
  readonly key?: string;
  /** Only the secret of this name. */
  readonly secret?: string;
  /** The number of calls that fail. Default: 1. */
  times?: number;
  /**
   * - an error code: the caller gets this error, and the service does not get the call
   * - `error inside 200`: the same with the status 200, as S3 does in a long answer
   * - `reset`: the connection is reset, and the service does not get the call
   * - `stall`: nothing is answered, and the service does not get the call
   * - `lost answer`: the service processes the call, then the connection is reset
   * - `wrong checksum`: the service processes the call, but its answer has another checksum
   */
  readonly answer: string;
}

interface Answered {
  /** 0 if the call got no answer. */
  readonly status: number;
  /** The code of an error, or the fault. */
  readonly error?: string;
}

/** A call of S3. */
export interface S3Call extends Answered {
  readonly operation: string;
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly part?: number;
}

/** A call of Secrets Manager or Glue, without secret values. */
export interface JsonCall extends Answered {
  readonly operation: string;
  /** The name of the secret. */
  readonly secret?: string;
  readonly table?: string;
}

/** A service behind a proxy. */
export interface Faulty<Call> {
  readonly endpoint: string;
  /** Every answered or failed call, in order of the answers. */
  readonly journal: Call[];
  /** Push a fault to make a later call fail. */
  readonly faults: Fault[];
}

/** A proxy in front of S3, whose address may be known later. */
export async function startS3Proxy(target: () => string): Promise<Faulty<S3Call> & AsyncDisposable> {
  return startProxy<S3Call>(target, {
    isJson: false,
    describe(request) {
      const { operation = 'unknown', bucket, key, query } = readAddress(request);
      const { method = '' } = request;
      const part = query.has('partNumber') ? { part: Number(query.get('partNumber')) } : {};
      return { operation, method, bucket, key, ...part };
    },
    refuse: (code) => errorXml(code, 'A fault was set.'),
    errorIn: (body) => (body === '' ? undefined : readXml(body).Error.Code),
  });
}

/** A proxy in front of Secrets Manager or Glue. */
export async function startJsonProxy(target: () => string): Promise<Faulty<JsonCall> & AsyncDisposable> {
  return startProxy<JsonCall>(target, {
    isJson: true,
    describe({ headers }, body) {
      const { SecretId, Name, TableName: table = Name } = JSON.parse(body);
      return {
        operation: String(headers['x-amz-target']).split('.').at(-1) ?? '',
        ...(SecretId && { secret: SecretId.replace(/^arn:.*:secret:/, '') }),
        ...(table && { table }),
      };
    },
    refuse: (code) => JSON.stringify({ __type: code, message: 'A fault was set.' }),
    errorIn: (body) => JSON.parse(body).__type,
  });
}

/** Starts Secrets Manager behind a proxy. */
export function startFaultySecrets(secrets: Parameters<typeof startSecretsManager>[0]) {
  return startFaulty(startSecretsManager(secrets));
}

/** Starts Glue behind a proxy. */
export function startFaultyGlue() {
  return startFaulty(startGlue());
}

async function startFaulty<Service extends AsyncDisposable & { readonly endpoint: string }>(
  starting: Promise<Service>,
) {
  await using started = new AsyncDisposableStack();
  const service = started.use(await starting);
  const proxy = started.use(await startJsonProxy(() => service.endpoint));
  const running = started.move();
  const close = () => running.disposeAsync();
  return { ...service, ...proxy, close, [Symbol.asyncDispose]: close };
}

/** The differences between S3 and the services that speak JSON. */
interface Protocol<Call> {
  readonly isJson: boolean;
  /** @param body is empty unless the protocol is JSON */
  describe(request: IncomingMessage, body: string): Omit<Call, keyof Answered>;
  refuse(code: string): string;
  errorIn(body: string): string | undefined;
}

async function startProxy<Call extends S3Call | JsonCall>(
  target: () => string,
  protocol: Protocol<Call>,
): Promise<Faulty<Call> & AsyncDisposable> {
  const journal: Call[] = [];
  const faults: Fault[] = [];
  const agent = new Agent({ keepAlive: true });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = protocol.isJson ? await text(request) : undefined;
    const call = protocol.describe(request, body ?? '');
    const record = (answered: Answered) => journal.push({ ...call, ...answered } as Call);
    const fault = takeFault(faults, call);
    if (fault === undefined || fault === 'lost answer' || fault === 'wrong checksum') {
      const answer = await forward(request, body, target(), agent);
      await relay(answer, fault, response, protocol, record);
    } else {
      request.resume();
      record(refusal(fault));
      refuse(fault, request, response, protocol);
    }
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy()); // One side closed its connection.
  });
  const { url, [Symbol.asyncDispose]: close } = await startServer(server);
  const dispose = async () => {
    await close();
    agent.destroy();
  };
  return { endpoint: url, journal, faults, [Symbol.asyncDispose]: dispose };
}

function refusal(fault: string): Required<Answered> {
  if (fault === 'stall' || fault === 'reset') return { status: 0, error: fault };
  if (fault === 'error inside 200') return { status: 200, error: 'InternalError' };
  return { status: STATUS[fault] ?? new S3Error(fault).status, error: fault };
}

function refuse(
  fault: string,
  { method }: IncomingMessage,
  response: ServerResponse,
  protocol: Pick<Protocol<unknown>, 'refuse'>,
): void {
  if (fault === 'stall') return;
  if (fault === 'reset') return void response.socket?.resetAndDestroy();
  const { status, error } = refusal(fault);
  response.writeHead(status, { 'x-amz-request-id': randomUUID() });
  response.end(method === 'HEAD' ? '' : protocol.refuse(error));
}

/** Passes a call on to the service. */
async function forward(request: IncomingMessage, body: string | undefined, target: string, agent: Agent) {
  const { method, url: path } = request; // A URL would lose the dots of a path.
  const { hostname, port } = new URL(target);
  const headers = { ...request.headers };
  delete headers.expect; // This server has told the client already that it may send the body.
  const upstream = open({ hostname, port, path, method, headers, agent });
  const answered = once(upstream, 'response');
  if (body !== undefined) upstream.end(body);
  else pipeline(request, upstream).catch(() => {}); // `answered` fails too.
  const [answer] = await answered;
  return answer;
}

/** Passes the service's answer on, as the fault says. */
async function relay(
  answer: IncomingMessage,
  fault: string | undefined,
  response: ServerResponse,
  { isJson, errorIn }: Pick<Protocol<unknown>, 'isJson' | 'errorIn'>,
  record: (answered: Answered) => void,
): Promise<void> {
  const { statusCode: status = 0, headers } = answer;
  if (!isJson && status < 300 && fault === undefined) {
    record({ status });
    response.writeHead(status, headers);
    await pipeline(answer, response);
    return;
  }
  const body = await text(answer);
  if (fault === 'lost answer') {
    record({ status: 0 });
    response.socket?.resetAndDestroy();
    return;
  }
  const error = status < 300 ? undefined : errorIn(body);
  record({ status, ...(error !== undefined && { error }) });
  if (fault === 'wrong checksum' && headers['x-amz-checksum-crc32'])
    headers['x-amz-checksum-crc32'] = WRONG_CHECKSUM;
  response.writeHead(status, headers);
  response.end(fault ? body.replace(/(<ChecksumCRC32>)[^<]*/, `$1${WRONG_CHECKSUM}`) : body);
}

const WRONG_CHECKSUM = 'AAAAAA==';

/** Returns what the first matching fault does, and counts down its `times`. */
function takeFault(faults: Fault[], call: Partial<Omit<S3Call & JsonCall, keyof Answered>>) {
  const fault = faults.find(
    ({ operation, part, key, secret, times = 1 }) =>
      times > 0 &&
      operation === call.operation &&
      (part === undefined || part === call.part) &&
      (key === undefined || call.key?.endsWith(key)) &&
      (secret === undefined || secret === call.secret),
  );
  if (fault === undefined) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  return fault.answer;
}
