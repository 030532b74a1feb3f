import { request } from 'undici';
import { onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../../../infra/local/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../../infra/local/sandbox/settings.ts';

/** What an answer may hold, as the contract shows it; each is there only where the contract says so. */
type Answered = {
  id: string;
  status: string;
  download_url: string;
  access_token: string;
  token_type: string;
  refresh_token: string;
  expires_in: number;
  scope: string;
  /** In the token endpoint's errors. */
  error: string;
  /** In lists. */
  data: { id: string; name: string; created_at: string }[];
};

type Envelope = {
  type: string;
  message: string;
  status: number;
  request_id: string;
  detail: { validation: { field: string; message: string }[] };
};

export type Reply = {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
  text: string;
  /** Empty where the body is no JSON. */
  json: Partial<Answered>;
  /** What stands under `error` outside the token endpoint. */
  envelope: Partial<Envelope>;
};

type Sending = { headers?: Record<string, string>; body?: string };

/** One request, with nothing added to it and no redirect followed. */
export async function send(method: string, url: string, sending: Sending = {}): Promise<Reply> {
  const { headers = {}, body = null } = sending;
  const response = await request(url, { method, headers, body });
  const bytes = Buffer.from(await response.body.arrayBuffer());
  const text = bytes.toString();
  return {
    status: response.statusCode,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    ),
    bytes,
    text,
    json: parsed(text),
    envelope: Object(parsed(text)).error ?? {},
  };
}

/** A sandbox on a clock that moves only when told to, and a client that knows nothing but the contract. */
export async function visit(options: SandboxOptions = {}) {
  let time = Date.parse('2026-11-21T06:00:00Z');
  const sandbox = await startSandbox({
    now: () => time,
    ...options,
    report: options.report ?? { secondsToProcessing: 5, secondsToReady: 25 },
  });
  onTestFinished(() => sandbox.close());
  const pass = (seconds: number) => {
    time += seconds * 1000;
  };
  return { sandbox, pass, now: () => time, ...callsOn(sandbox, pass) };
}

function callsOn(sandbox: Sandbox, pass: (seconds: number) => void) {
  const tokenRequest = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    send('POST', `${sandbox.baseUrl}/oauth2/token`, {
      headers: { authorization: basic(sandbox.clientId, sandbox.clientSecret), ...FORM, ...headers },
      body: new URLSearchParams(form).toString(),
    });
  const token = async (scope?: string) =>
    (await tokenRequest({ grant_type: 'client_credentials', ...(scope ? { scope } : {}) })).json
      .access_token ?? '';
  /** A call with a good token and revision, save for what is given. */
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(method, sandbox.baseUrl + path, {
      headers: {
        ...(headers.authorization === undefined ? { authorization: `Bearer ${await token()}` } : {}),
        'x-service-revision': sandbox.revision,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const create = (changes: Record<string, unknown> = {}) =>
    call('POST', '/reports', { ...requestOf(sandbox), ...changes });
  /** Creates a report, lets time pass until it is READY, and returns its id and its URL. */
  const ready = async (changes: Record<string, unknown> = {}) => {
    const id = String((await create(changes)).json.id);
    pass(40);
    const report = await call('GET', `/reports/${id}`);
    return { id, url: String(report.json.download_url) };
  };
  return { tokenRequest, token, call, create, ready };
}

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** A valid report request. */
export function requestOf(sandbox: Sandbox) {
  return {
    start_date: '2026-10-01',
    end_date: '2026-11-01',
    advertiser_ids: sandbox.advertiserIds,
    metrics: ['spend', 'impressions'],
    dimensions: ['campaign_id', 'campaign_name'],
    granularity: 'DAY',
    format: 'JSON',
  };
}

export function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

function parsed(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
