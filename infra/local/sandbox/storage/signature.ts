import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Report } from '../reporting/reports.ts';
import type { World } from '../world.ts';

const DAY_SECONDS = 86_400;

/** Contract 2.3: a URL generated now and good for 24 hours. Every GET of a READY report gets one of its own. */
export function presign(world: World, report: Report): string {
  const path = `/reports/${report.id}.json`;
  const expires = world.now() + 1000 * (world.options.report?.urlSeconds ?? DAY_SECONDS);
  const nonce = randomBytes(6).toString('hex');
  const query = new URLSearchParams({ expires: String(Math.floor(expires)), nonce });
  query.set('signature', sign(world, path, query));
  return `${world.storageUrl}${path}?${query}`;
}

/** Why a pre-signed URL is refused, or undefined. */
export function signatureFault(
  world: World,
  path: string,
  query: URLSearchParams,
): 'tampered' | 'expired' | undefined {
  const given = Buffer.from(query.get('signature') ?? '');
  const right = Buffer.from(sign(world, path, query));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return 'tampered';
  return world.now() < Number(query.get('expires')) ? undefined : 'expired';
}

function sign(world: World, path: string, query: URLSearchParams): string {
  const signed = `${path}\n${query.get('expires')}\n${query.get('nonce')}`;
  return `sbx_sig_${createHmac('sha256', world.signingKey).update(signed).digest('base64url')}`;
}
