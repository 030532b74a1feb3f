import { type Answer, unreadable } from './answer.ts';
import type { Authorization, Platform } from './connection.ts';
import { platformError } from './envelope.ts';
import { type Call, send } from './request.ts';

interface ApiRequest extends Pick<Call, 'method' | 'path' | 'query' | 'reportId'> {
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** Adds the headers of every API call (contract 4, 5, 9). */
export function apiCall(
  platform: Platform,
  { scheme, value }: Authorization,
  { body, ...call }: ApiRequest,
): Call {
  return {
    ...call,
    headers: {
      accept: 'application/json',
      'x-service-revision': platform.revision,
      ...(scheme === 'ApiKey' ? { 'x-api-key': value } : { authorization: `Bearer ${value}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    secrets: [value],
  };
}

/**
 * Sends a call and returns its answer if that has the status of success.
 * Throws PlatformError (not 2xx), UnreadableAnswer (another 2xx, or a body over the cap) or NoAnswer.
 *
 * @param success the status that the contract names
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
