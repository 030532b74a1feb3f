import { SCOPES } from '../contract.ts';
import { ALL } from '../workflow/request/report.ts';

/** The fields of a request that decide its scope. */
interface Scoped {
  readonly kind: string;
  readonly resource?: string;
  readonly advertiser_ids?: unknown;
}

/**
 * The scopes that an export needs, separated by a space. Undefined if the contract names none: a token that
 * is requested without a scope has all scopes of the client.
 */
export function scopeOf({ kind, resource = '', advertiser_ids }: Scoped): string | undefined {
  if (kind === 'list') return SCOPES.list(resource);
  const scopes = advertiser_ids === ALL ? [SCOPES.reports, SCOPES.advertisers] : [SCOPES.reports];
  return scopes.filter((scope) => scope !== undefined).join(' ') || undefined;
}
