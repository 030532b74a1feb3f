import { RESOURCES } from '../workflow/request/list.ts';
import { ALL } from '../workflow/request/report.ts';

/** The only scope that reports and purchase queries need (contract 5.3). */
export const REPORTING = 'reporting:read';

/** To list the account's advertisers (contract 5.3). */
export const ADVERTISERS = 'advertisers:read';

/** The fields of a request that decide its scope. */
interface Scoped {
  readonly kind: string;
  readonly resource?: string;
  readonly advertiser_ids?: unknown;
}

/**
 * The scopes that an export needs, separated by a space. Undefined for a list whose scope the contract does
 * not name: a token requested without a scope has all scopes of the client (contract 4.1).
 */
export function scopeOf({ kind, resource = '', advertiser_ids }: Scoped): string | undefined {
  if (kind !== 'list') return advertiser_ids === ALL ? `${REPORTING} ${ADVERTISERS}` : REPORTING;
  return RESOURCES.includes(resource) ? `${resource}:read` : undefined;
}
