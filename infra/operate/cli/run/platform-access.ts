import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import type { Clock } from '../../../lab/local/clock.ts';
import { startSandbox } from '../../../lab/sandbox/start-sandbox.ts';
import { credentialFile } from '../../place/target-platform.ts';
import { servingOptions } from '../sandbox-settings.ts';
import type { LocalRunOptions } from './check-run.ts';

/** A minute: two runs, one after the other, show restated days. With --daily, a day is one. */
const RESTATED_EVERY_HOURS = 1 / 60;

/** The platform that the options name, or else a sandbox, which ends when it is disposed of. */
export async function createPlatformAccess(
  { baseUrl, revision, credential, restatedDays: days, daily }: LocalRunOptions,
  clock: Clock,
  requests: readonly ExportRequest[],
) {
  if (baseUrl !== undefined && revision !== undefined && credential !== undefined)
    return {
      baseUrl,
      revision,
      credentialOf: (account: string) => ({ file: credentialFile(credential, account) }),
      async [Symbol.asyncDispose]() {},
    };
  const everyHours = daily === undefined ? RESTATED_EVERY_HOURS : 24;
  const sandbox = await startSandbox({
    ...servingOptions(clock.speed, requests),
    ...(days !== undefined && { report: { restated: { days, everyHours } } }),
    now: clock.now,
  });
  const text = JSON.stringify({ client_id: sandbox.clientId, client_secret: sandbox.clientSecret });
  return {
    baseUrl: sandbox.baseUrl,
    revision: sandbox.revision,
    credentialOf: () => ({ text }),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}
