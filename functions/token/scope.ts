import { RESOURCES } from '../workflow/request/list.ts';

/** The only scope that reports and purchase queries need (contract 5.3). */
export const REPORTING = 'reporting:read';

/**
 * The scope that an export needs. Undefined for a list whose scope the contract does not name: a token
 * requested without a scope has all scopes of the client (contract 4.1).
 */
export function scopeOf(request: { readonly kind: string; readonly resource?: string }): string | undefined {
  if (request.kind !== 'list') return REPORTING;
  const { resource = '' } = request;
  return RESOURCES.includes(resource) ? `${resource}:read` : undefined;
}
