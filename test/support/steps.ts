import { onTestFinished } from 'vitest';
import { safeAgent } from '../../functions/platform/safe-hosts.ts';
import { requestToken } from '../../functions/platform/token.ts';
import type { PlatformAccess } from '../../functions/token/call-platform.ts';
import type { ReportWindow } from '../../functions/workflow/states.ts';
import { startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';

/** A line that a step logged. */
export interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines. */
export function keepLog() {
  const lines: Line[] = [];
  const at =
    (level: Line['level']) =>
    (message: string, fields: Line['fields'] = {}) => {
      lines.push({ level, message, fields });
    };
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error'), keep: () => {} } };
}

/** A clock that stands still until it is told to move. */
export function stoppedClock(start = '2026-11-21T06:00:00.000Z') {
  let time = Date.parse(start);
  return {
    now: () => new Date(time),
    pass(seconds: number) {
      time += seconds * 1000;
    },
  };
}

/** The sandbox, a token, and a window that asks it for one day; the clock moves only when a test moves it. */
export async function startStep(options: SandboxOptions = {}) {
  const clock = stoppedClock();
  const sandbox = await startSandbox({ now: () => clock.now().getTime(), ...options });
  onTestFinished(() => sandbox.close());
  const endpoint = { baseUrl: sandbox.baseUrl, dispatcher: safeAgent({ allowLoopback: true }) };
  const client = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const { accessToken } = await requestToken(endpoint, client);
  const { lines, log } = keepLog();
  const access: PlatformAccess = {
    now: clock.now,
    log,
    platform: (revision = sandbox.revision) => ({ ...endpoint, revision, now: () => clock.now().getTime() }),
    readToken: async () => ({ scheme: 'Bearer', value: accessToken }),
  };
  return { sandbox, clock, access, lines, window: windowOf(sandbox.advertiserIds) };
}

/** A window's state as GetToken leaves it. */
export function windowOf(advertiser_ids: readonly string[]): ReportWindow {
  return {
    execution: 'test-execution',
    request: {
      name: 'daily',
      account: 'acme',
      kind: 'report',
      start_date: '2026-11-01',
      end_date: '2026-11-02',
      advertiser_ids: [...advertiser_ids],
      metrics: ['spend'],
      granularity: 'DAY',
      format: 'JSON',
      options: {},
      max_parallel: 4,
    },
    warnings: [],
    window: { start_date: '2026-11-01', end_date: '2026-11-02' },
    status: 'planned',
    wait_seconds: 10,
    throttled: 0,
    reports: [],
    begun_at: '2026-11-21T06:00:00.000Z',
    token: {
      version: 'v1',
      scope: 'reporting:read',
      expires_at: '2026-11-21T07:00:00.000Z',
      unproven: false,
    },
  };
}
