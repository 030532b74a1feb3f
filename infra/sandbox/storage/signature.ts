import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Report, SandboxState } from '../state.ts';

const DAY_SECONDS = 86_400;

/** Creates a new download_url, valid for 24 hours from now (contract 2.3). */
export function presign(state: SandboxState, { id, request }: Report): string {
  const path = `/reports/${id}.${request.format === 'CSV' ? 'csv' : 'json'}`;
  const expires = state.now() + 1000 * (state.options.report?.urlSeconds ?? DAY_SECONDS);
  const nonce = randomBytes(6).toString('hex');
  const query = new URLSearchParams({ expires: String(Math.floor(expires)), nonce });
  query.set('signature', sign(state, path, query));
  return `${state.storageUrl}${path}?${query}`;
}

/** Returns undefined if the URL is valid. */
export function signatureProblem(
  state: SandboxState,
  path: string,
  query: URLSearchParams,
): 'tampered' | 'expired' | undefined {
  const given = Buffer.from(query.get('signature') ?? '');
  const right = Buffer.from(sign(state, path, query));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'tampered';
  return state.now() < Number(query.get('expires')) ? undefined : 'expired';
}

function sign({ signingKey }: SandboxState, path: string, query: URLSearchParams): string {
  const signed = `${path}\n${query.get('expires')}\n${query.get('nonce')}`;
  return `sbx_sig_${createHmac('sha256', signingKey).update(signed).digest('base64url')}`;
}
