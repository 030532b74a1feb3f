import { onTestFinished, vi } from 'vitest';
import { createObjectWriting } from '../../functions/copy/object-writer.ts';
import type { Settings } from '../../functions/workflow/settings.ts';
import type { LambdaContext } from '../../functions/workflow/step.ts';
import { CREDENTIALS, LOCAL_AWS_ACCOUNT } from '../../infra/lab/local/s3/server.ts';
import { type Metric, metricsIn } from './emf.ts';
import { BUCKET, startTestS3, type TestS3Options } from './s3.ts';

/** The environment of a function, with an unreachable platform. */
export const SETTINGS: Readonly<Record<keyof Omit<Settings, Optional>, string>> = {
  STEP: 'CheckReport',
  PLATFORM_BASE_URL: 'https://platform.invalid',
  PLATFORM_REVISION: '2026-09-01',
  SECRET_PREFIX: 'exports-test',
  BUCKET,
  BUCKET_OWNER: LOCAL_AWS_ACCOUNT,
  MAX_DOWNLOAD_BYTES: '1000000',
  MAX_CURATE_BYTES: '1000000',
  PROGRAM: 'npm run export --',
};
type Optional =
  | 'PLATFORM_NAME'
  | 'GLUE_DATABASE'
  | 'REFRESH_PARAMETERS'
  | 'ADVERTISERS_LIST'
  | 'DOWNLOAD_HOSTS'
  | 'RUNBOOK_URL'
  | 'ALLOW_LOOPBACK';

/** Points the SDK to local services and gives it their credentials. */
export function awsEnvironment(
  endpoints: Readonly<Partial<Record<'S3' | 'SECRETS_MANAGER' | 'GLUE', string>>>,
) {
  const urls = Object.entries(endpoints).map(([service, url]) => [`AWS_ENDPOINT_URL_${service}`, url]);
  return {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    ...Object.fromEntries(urls),
  };
}

/** Sets this process's environment for the test. */
export function setEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
}

type Handler<O> = (event: unknown, context: LambdaContext) => Promise<O>;

export interface Lambda {
  /** Calls a handler as its state does. */
  call<O>(handler: Handler<O>, state: unknown, retry_count?: number, redrive_count?: number): Promise<O>;
  /** The log lines since the last call, without timestamp, service and sampling rate. */
  lines(): Record<string, unknown>[];
  /** The metrics since the last call. */
  metrics(): Metric[];
}

/** Makes this process act as Lambda until the test ends: sets its environment and collects its output. */
export function asLambda(environment: Readonly<Record<string, string>>): Lambda {
  setEnvironment({ POWERTOOLS_SERVICE_NAME: 'exports-test', ...environment });
  restoreProcess();
  const texts: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => texts.push(String(text)) > 0);
  }
  let calls = 0;
  const takeLines = (isMetric: boolean) => {
    const written = texts.splice(0).flatMap((text) => text.split('\n').filter(Boolean));
    texts.push(...written.filter((text) => text.includes('"_aws"') !== isMetric));
    return written.filter((text) => text.includes('"_aws"') === isMetric);
  };
  return {
    call(handler, state, retry_count = 0, redrive_count) {
      calls += 1;
      const context = { awsRequestId: `invocation-${calls}`, getRemainingTimeInMillis: () => 900_000 };
      return handler({ state, retry_count, redrive_count }, context);
    },
    lines: () =>
      takeLines(false).map((text) => {
        const { timestamp, service, sampling_rate, ...line } = JSON.parse(text);
        return line;
      }),
    metrics: () => metricsIn(takeLines(true)),
  };
}

/** A handler redirects the console and process events. Undoes that when the test ends. */
function restoreProcess(): void {
  const originalConsole = { ...console };
  const events = ['warning', 'uncaughtException', 'unhandledRejection'] as const;
  const originalListeners = events.map((event) => [event, process.rawListeners(event)] as const);
  onTestFinished(() => {
    Object.assign(console, originalConsole);
    for (const [event, listeners] of originalListeners) {
      process.removeAllListeners(event);
      for (const listener of listeners) process.on(event, listener as never);
    }
  });
}

/** Makes AbortSignal.timeout 50 times shorter for the test. The spy's calls hold the original ms. */
export function shortenTimeouts() {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  return vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 50));
}

/** A local bucket, and the function with which a step writes objects to it. */
export async function startBucket(settings: Partial<Settings> = {}, options: TestS3Options = {}) {
  const s3 = await startTestS3(options);
  onTestFinished(() => s3.close());
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  return { s3, writeObject: createObjectWriting({ ...SETTINGS, ...settings }) };
}
