import { request } from 'undici';
import { onTestFinished } from 'vitest';
import { parseJson } from '../../../../functions/workflow/json.ts';
import type { SandboxOptions } from '../../../../infra/lab/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../../../infra/lab/sandbox/start-sandbox.ts';
import { stoppedClock } from '../../../support/steps.ts';

/** Whatever a response holds. The tests say which fields it should have. */
type Json = ReturnType<typeof JSON.parse>;

export type Reply = Awaited<ReturnType<typeof send>>;

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Sends one request as it is and follows no redirect. */
export async function send(
  method: string,
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
) {
  const response = await request(url, { method, headers, body: body ?? null });
  const text = await response.body.text();
  /** {} if the body is not JSON. */
  const json: Json = parseJson(text) ?? {};
  const entries = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  const answered: Record<string, string> = Object.fromEntries(entries);
  /** The error of the platform's error envelope, or {}. */
  const envelope: Json = json.error ?? {};
  return { status: response.statusCode, headers: answered, text, json, envelope };
}

/** A valid report request, without advertisers. */
const REQUEST = {
  start_date: '2026-10-01',
  end_date: '2026-11-01',
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name'],
};

/** What a client of the sandbox has to know. */
type Served = Pick<Sandbox, 'baseUrl' | 'clientId' | 'clientSecret' | 'revision'> & {
  readonly advertiserIds: readonly string[];
};

/** Starts a sandbox whose clock moves only with `pass`, and a client of what the contract shows. */
export async function startClient(options: SandboxOptions = {}) {
  const clock = stoppedClock();
  const sandbox = await startSandbox({ now: () => clock.now().getTime(), ...options });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  return { ...createClient(sandbox, clock), sandbox };
}

export function createClient(sandbox: Served, { pass }: Pick<ReturnType<typeof stoppedClock>, 'pass'>) {
  const tokenRequest = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    send('POST', `${sandbox.baseUrl}/oauth2/token`, {
      headers: { authorization: basic(sandbox.clientId, sandbox.clientSecret), ...FORM, ...headers },
      body: new URLSearchParams(form).toString(),
    });
  const token = async () =>
    (await tokenRequest({ grant_type: 'client_credentials' })).json.access_token ?? '';
  /** Sends a valid token and revision unless `headers` has others. */
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(method, sandbox.baseUrl + path, {
      headers: {
        ...(!headers.authorization && !headers['x-api-key'] && { authorization: `Bearer ${await token()}` }),
        'x-service-revision': sandbox.revision,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  /** Creates a report. @param headers instead of a token */
  const create = (changes: Record<string, unknown> = {}, headers?: Record<string, string>) => {
    const { advertiserIds: advertiser_ids } = sandbox;
    return call('POST', '/reports', { ...REQUEST, advertiser_ids, ...changes }, headers);
  };
  const poll = (id: unknown) => call('GET', `/reports/${id}`);
  /** Creates a report and waits until it is READY. */
  const ready = async (changes: Record<string, unknown> = {}) => {
    const id = String((await create(changes)).json.id);
    pass(40);
    return { id, url: String((await poll(id)).json.download_url) };
  };
  return { sandbox, pass, tokenRequest, token, call, create, poll, ready };
}

/** {@link startClient}, and one report. */
export async function startReport(options: SandboxOptions = {}) {
  const client = await startClient(options);
  return { ...client, id: String((await client.create()).json.id) };
}

/** {@link startClient}, and one report that is READY, with its download_url. */
export async function startDownload(options: SandboxOptions = {}) {
  const client = await startClient(options);
  return { ...client, ...(await client.ready()) };
}

export function apiKeyHeaders({ credentials, revision }: Sandbox, index = 0): Record<string, string> {
  return { 'x-api-key': credentials[index]?.apiKey ?? '', 'x-service-revision': revision };
}

export function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}
