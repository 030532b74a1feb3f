import { onTestFinished } from 'vitest';
import { authorizationOf } from '../../functions/platform/connection.ts';
import { requestToken } from '../../functions/platform/oauth.ts';
import { safeAgent } from '../../functions/platform/safe-agent.ts';
import type { PlatformAccess } from '../../functions/token/call-platform.ts';
import type { StoredObject } from '../../functions/workflow/state-parts.ts';
import type { ReportWindow } from '../../functions/workflow/states.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { startSandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import { NORMALIZED_REPORT } from './requests.ts';

export interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that collects its lines. */
export function keepLog() {
  const lines: Line[] = [];
  const log =
    (level: Line['level']) =>
    (message: string, fields: Line['fields'] = {}) => {
      lines.push({ level, message, fields });
    };
  return { lines, log: { info: log('info'), warn: log('warn'), error: log('error'), keep: () => {} } };
}

/** A clock that moves only when a test calls `pass`. */
export function stoppedClock(start = '2026-11-21T06:00:00.000Z') {
  let time = Date.parse(start);
  return {
    now: () => new Date(time),
    pass(seconds: number) {
      time += seconds * 1000;
    },
  };
}

/** A bucket that keeps its objects in memory. */
export function keepObjects() {
  const objects = new Map<string, string>();
  const store = {
    list: async (prefix: string) => [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(),
    getText: async (key: string) => objects.get(key),
    putJson: async (key: string, value: unknown) => objects.set(key, JSON.stringify(value)).size > 0,
    putText: async (key: string, text: string) => void objects.set(key, text),
  };
  return { objects, store };
}

/** The sandbox, a token and a window of one day, on a stopped clock. */
export async function startStep(options: SandboxOptions = {}) {
  const clock = stoppedClock();
  const sandbox = await startSandbox({ now: () => clock.now().getTime(), ...options });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  const endpoint = { baseUrl: sandbox.baseUrl, dispatcher: safeAgent({ allowLoopback: true }) };
  const client = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  const { accessToken } = await requestToken(endpoint, client, { grant_type: 'client_credentials' });
  const { lines, log } = keepLog();
  const { objects, store } = keepObjects();
  const access: PlatformAccess & { readonly store: typeof store } = {
    store,
    now: clock.now,
    log,
    platform: (revision = sandbox.revision) => ({ ...endpoint, revision }),
    readToken: async () => authorizationOf(accessToken, client.client_id),
  };
  return { sandbox, clock, access, objects, lines, window: windowOf(sandbox.advertiserIds) };
}

/** A report of a window's state. */
export function reportRef(id: string, created_at = '2026-11-21T05:00:00.000Z') {
  return { id, created_at, useless_answers: 0, given_up: false };
}

/** The file of a window, as SaveReport describes it. */
export function storedObject(fields: Partial<StoredObject> = {}): StoredObject {
  const file = { key: 'report.json', bytes: 1, crc32: '', content_type: 'application/json' };
  return { ...file, copied_at: '2026-11-21T05:59:58.000Z', ...fields };
}

/** The state of a window after GetToken. */
export function windowOf(advertiser_ids: readonly string[]): ReportWindow {
  const window = { start_date: '2026-11-01', end_date: '2026-11-02' };
  return {
    execution: 'test-execution',
    request: { ...NORMALIZED_REPORT, ...window, advertiser_ids: [...advertiser_ids] },
    warnings: [],
    window,
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
