import { onTestFinished, vi } from 'vitest';
import type { Settings } from '../../functions/workflow/settings.ts';
import type { LambdaContext } from '../../functions/workflow/step.ts';
import { ACCOUNT, CREDENTIALS } from '../../infra/local/s3/server.ts';
import { type Metric, metricsIn } from './emf.ts';
import { BUCKET } from './s3.ts';

/** Every function's environment, of a platform that nobody can reach. */
export const SETTINGS: Readonly<Record<keyof Omit<Settings, Optional>, string>> = {
  STEP: 'CheckReport',
  PLATFORM_BASE_URL: 'https://platform.invalid',
  PLATFORM_REVISION: '2026-09-01',
  SECRET_PREFIX: 'exports-test',
  BUCKET,
  BUCKET_OWNER: ACCOUNT,
  ACCOUNTS: 'acme',
  MAX_DOWNLOAD_BYTES: '1000000',
};
type Optional = 'REFRESH_PARAMETERS' | 'DOWNLOAD_HOSTS' | 'RUNBOOK_URL' | 'ALLOW_LOOPBACK';

/** What the SDK reads of its own: services of this machine, and credentials for those alone. */
export function awsEnvironment(
  endpoints: Readonly<Partial<Record<'S3' | 'SECRETS_MANAGER', string>>>,
): Record<string, string> {
  const urls = Object.entries(endpoints).map(([service, url]) => [`AWS_ENDPOINT_URL_${service}`, url]);
  return {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    ...Object.fromEntries(urls),
  };
}

/** This process's environment until the test ends. */
export function setEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

type Handler<O> = (event: unknown, context: LambdaContext) => Promise<O>;

export interface Lambda {
  /** What a state hands to its function. */
  call<O>(handler: Handler<O>, state: unknown, retry_count?: number): Promise<O>;
  /** The lines that were logged since the last look, without what the logger adds by itself. */
  lines(): Record<string, unknown>[];
  /** The metrics that were written since the last look. */
  metrics(): Metric[];
}

/** This process as Lambda's runtime until the test ends: its environment, and what is written on its streams. */
export function asLambda(environment: Readonly<Record<string, string>>): Lambda {
  setEnvironment({ POWERTOOLS_SERVICE_NAME: 'exports-test', ...environment });
  restoreProcess();
  const texts: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation((text) => texts.push(String(text)) > 0);
    onTestFinished(() => spy.mockRestore());
  }
  let calls = 0;
  const take = (isMetric: boolean) => {
    const written = texts.splice(0).flatMap((text) => text.split('\n').filter(Boolean));
    texts.push(...written.filter((text) => text.includes('"_aws"') !== isMetric));
    return written.filter((text) => text.includes('"_aws"') === isMetric);
  };
  return {
    call(handler, state, retry_count = 0) {
      calls += 1;
      const context = {
        functionName: 'exports-test-step',
        awsRequestId: `invocation-${calls}`,
        getRemainingTimeInMillis: () => 900_000,
      };
      return handler({ state, retry_count }, context);
    },
    lines: () =>
      take(false).map((text) => {
        const { timestamp, service, sampling_rate, ...line } = JSON.parse(text);
        return line;
      }),
    metrics: () => metricsIn(take(true).map((text) => ({ function: 'step', stream: 'stdout', text }))),
  };
}

/** A step takes over the console and what Node says of the process: all of it goes back when the test ends. */
function restoreProcess(): void {
  const written = { ...console };
  const events = ['warning', 'uncaughtException', 'unhandledRejection'] as const;
  const heard = events.map((event) => [event, process.rawListeners(event)] as const);
  onTestFinished(() => {
    Object.assign(console, written);
    for (const [event, listeners] of heard) {
      process.removeAllListeners(event);
      for (const listener of listeners) process.on(event, listener as never);
    }
  });
}
