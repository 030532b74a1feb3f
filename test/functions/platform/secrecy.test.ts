import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { authorizationOf } from '../../../functions/platform/connection.ts';
import { requestToken } from '../../../functions/platform/oauth.ts';
import { postQuery } from '../../../functions/platform/purchases.ts';
import { getReport, postReport } from '../../../functions/platform/reports.ts';
import type { PurchasesRequest } from '../../../functions/workflow/request/request.ts';
import { type Answer, json, listen, type Seen } from '../../support/listen.ts';
import { platformAt } from '../../support/platform.ts';
import { windowOf } from '../../support/steps.ts';

// Form-encoding, JSON and base64 each change some of these characters.
const CANARY = 'canary+"/é';
const TOKEN = 'canary-token.abc';
const client = { client_id: 'client-1', client_secret: `secret-${CANARY}` };

/**
 * Texts that a server could echo: those that it was sent, as they were sent, decoded, and encoded in other
 * ways.
 */
function echo({ headers, body }: Seen): string {
  const basic = Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  return [
    headers.authorization,
    headers['x-api-key'],
    basic,
    decodeURIComponent(basic.replaceAll('+', ' ')),
    body,
    ...new URLSearchParams(body).values(),
    encodeURIComponent(body),
    ...[...new URLSearchParams(body).values()].flatMap((value) => [
      encodeURIComponent(value),
      JSON.stringify(value),
      Buffer.from(value).toString('base64url'),
    ]),
    'https://store.example/r?X-Amz-Signature=canary-signature',
  ].join(' | ');
}

const status =
  (code: number, answer: (echoed: string) => unknown, headers: Record<string, string> = {}): Answer =>
  (seen, response) =>
    json(response, code, answer(echo(seen)), headers);
const envelope = (text: string) => ({
  error: {
    type: text,
    message: text,
    request_id: text,
    doc_url: text,
    detail: { validation: { field: text, list: [text] } },
  },
});

/** The body is not JSON, so the error names the content type. */
function headersEcho(code: number): Answer {
  return ({ headers }, response) => {
    const echoed = encodeURI(headers.authorization ?? headers['x-api-key']?.toString() ?? '');
    response
      .writeHead(code, { 'x-request-id': echoed, 'retry-after': echoed, 'content-type': echoed })
      .end('-');
  };
}

const servers: Record<string, Answer> = {
  'an envelope that echoes': status(422, envelope),
  'an envelope whose field names echo': status(422, (text) => ({
    error: { type: 'x', detail: { [text]: 'no', validation: { [text]: { [text]: 'no' } } } },
  })),
  'a detail that echoes': status(500, (text) => ({ error: { type: 'x', detail: text } })),
  'an OAuth body that echoes': status(400, (error_description) => ({ error: 'a_code', error_description })),
  'an invalid success': status(200, (text) => ({ id: { text }, access_token: [text], status: text })),
  'another success': status(202, (text) => text),
  'HTML that echoes': (seen, response) => response.writeHead(502).end(`<html>${echo(seen)}</html>`),
  'a failure whose headers echo': headersEcho(500),
  'a success whose headers echo': headersEcho(200),
  'a redirect': (seen, response) => response.writeHead(302, { location: `/?${encodeURI(echo(seen))}` }).end(),
  'a reset': (_seen, response) => response.destroy(),
  silence: () => {},
};

type Call = (url: string) => Promise<unknown>;
const at = (url: string) => platformAt(url, { timeouts: { total: 100 } });
const bearer = authorizationOf(TOKEN, client.client_id);
const { request, window } = windowOf([]);
const purchases = { ...window, kind: 'purchases', advertiser_id: 'a', options: {} };

const calls: Record<string, Call> = {
  postReport: (url) => postReport(at(url), bearer, request, window),
  getReport: (url) => getReport(at(url), bearer, 'r'),
  'getReport with a key': (url) =>
    getReport(at(url), { headers: { 'x-api-key': TOKEN }, secret: TOKEN }, 'r'),
  'a token that no header can carry': (url) =>
    getReport(at(url), authorizationOf(`${TOKEN}\n`, client.client_id), 'r'),
  'requestToken for a code': (url) =>
    requestToken(at(url), client, { code: `code-${CANARY}`, redirect_uri: 'http://127.0.0.1/' }),
  'requestToken for a login': (url) => requestToken(at(url), client, { refresh_token: `refresh-${CANARY}` }),
  postQuery: (url) =>
    postQuery(at(url), bearer, purchases as unknown as PurchasesRequest).then((answer) => {
      throw new Error(Object.keys(answer).join());
    }),
};

const cases = Object.keys(calls).flatMap((call) =>
  Object.keys(servers).map((server) => [call, server] as const),
);

test.each(cases)('%s: %s: the error has no secret', async (call, kind) => {
  await using server = await listen(servers[kind] ?? (() => {}));
  const error: unknown = await calls[call]?.(server.url).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  const shown = `${JSON.stringify(error)} ${inspect(error, { depth: null, showHidden: true })} ${(error as Error).message}`;
  expect(shown).not.toMatch(/canary/i);
  expect(shown).not.toContain(Buffer.from(`client-1:`).toString('base64').slice(0, 10));
  expect((error as Error).cause).toBeUndefined();
});
