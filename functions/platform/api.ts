import type { Authorization, Platform } from './connection.ts';
import { platformError, unreadable } from './envelope.ts';
import { type Answer, type Call, send } from './request.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A call with the headers that every API call carries (contract 4, 5, 9). */
export function apiCall(platform: Platform, authorization: Authorization, asked: ApiRequest): Call {
  const { scheme, value } = authorization;
  return {
    method: asked.method,
    path: asked.path,
    query: asked.query ?? {},
    headers: {
      accept: 'application/json',
      'x-service-revision': platform.revision,
      ...(scheme === 'Bearer' ? { authorization: `Bearer ${value}` } : { 'x-api-key': value }),
      ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
    secrets: [value],
  };
}

/**
 * Sends the call and gives its answer, whose status is the one that the contract names for success.
 * Throws PlatformError, UnreadableAnswer (another 2xx, or a body over the cap) or NoAnswer.
 *
 * @param cap bytes; see {@link send}
 */
export async function callApi(
  platform: Platform,
  call: Call,
  success: number,
  cap?: number,
): Promise<Answer> {
  const answer = await send(platform, call, cap);
  if (answer.status < 200 || answer.status > 299) {
    throw platformError(answer, (platform.now ?? Date.now)());
  }
  if (answer.status !== success) throw unreadable(answer, `a status other than ${success}`);
  if (answer.truncated) throw unreadable(answer, 'a body larger than any that the contract shows');
  return answer;
}
