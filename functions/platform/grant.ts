import {
  allowInsecureRequests,
  type ClientAuth,
  customFetch,
  genericTokenEndpointRequest,
} from 'oauth4webapi';
import { type Connection, endpoint } from './connection.ts';
import { oauthError, platformError, unreadable } from './envelope.ts';
import { type Answer, send } from './request.ts';

export interface Client {
  readonly client_id: string;
  readonly client_secret: string;
}

// Asked too often, or too slowly: nothing is wrong with the credential, and later it may work.
const AGAIN_LATER = [408, 429];

/**
 * POST {base_url}/oauth2/token (contract 4.1) and its answer, whose status is 200.
 * Throws OAuthError (4xx: the credential or the grant), PlatformError (408, 429, 5xx, a redirect), UnreadableAnswer
 * (another 2xx) or NoAnswer.
 *
 * @param parameters of the form, grant_type among them
 */
export async function requestGrant(
  platform: Connection,
  client: Client,
  parameters: Readonly<Record<string, string>>,
): Promise<Answer> {
  const answer = await sendGrant(platform, client, parameters);
  const { status } = answer;
  if (status === 200) return answer;
  if (status > 200 && status < 300) throw unreadable(answer, 'a status other than 200');
  if (status >= 400 && status < 500 && !AGAIN_LATER.includes(status)) throw oauthError(answer);
  throw platformError(answer, (platform.now ?? Date.now)());
}

/**
 * oauth4webapi writes the request. Its reading half is left out: it does not read the error's body where a
 * WWW-Authenticate header stands beside it, refuses a negative expires_in, and puts tokens into its errors' cause.
 */
async function sendGrant(
  platform: Connection,
  client: Client,
  parameters: Record<string, string>,
): Promise<Answer> {
  const url = endpoint(platform.baseUrl, '/oauth2/token');
  let answer: Answer | undefined;
  await genericTokenEndpointRequest(
    { issuer: url.origin, token_endpoint: url.href },
    { client_id: client.client_id },
    basic(client),
    parameters.grant_type ?? '',
    parameters,
    {
      [allowInsecureRequests]: url.protocol === 'http:',
      [customFetch]: async (_url, { headers, body }) => {
        answer = await send(platform, {
          method: 'POST',
          path: '/oauth2/token',
          headers,
          body: String(body),
          secrets: secretsOf(client, headers, parameters),
        });
        // Only stands in: a Response refuses statuses and bodies that a server can send.
        return new Response();
      },
    },
  );
  if (!answer) throw new TypeError('the token request was not sent');
  return answer;
}

/**
 * HTTP Basic with id and secret form-encoded (RFC 6749, 2.3.1). oauth4webapi's own also encodes `-`, `_` and `.`: right
 * for a server that decodes, wrong for the many that do not; left as they are, both read the same.
 */
function basic(client: Client): ClientAuth {
  return (_server, _client, _body, headers) => {
    const credentials = `${formEncode(client.client_id)}:${formEncode(client.client_secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function secretsOf(
  client: Client,
  headers: Record<string, string>,
  parameters: Record<string, string>,
): string[] {
  const { code, refresh_token } = parameters;
  const credentials = headers.authorization?.replace('Basic ', '');
  return [client.client_secret, credentials, code, refresh_token].filter((secret) => secret !== undefined);
}
