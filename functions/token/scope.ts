/** All that reporting needs, and what every token for a report or a purchase query is asked for (contract 5.3). */
const REPORTING = 'reporting:read';

/** What has a scope `<resource>:read` of its own (contract 5.3). */
const SCOPED_RESOURCES = [
  'account',
  'advertisers',
  'audiences',
  'campaigns',
  'creatives',
  'impression_tracking',
];

/**
 * The scope that an export needs, and no more. Undefined for a list whose scope the contract does not name: a token
 * requested without a scope has all that the client has (contract 4.1).
 */
export function scopeOf(request: { readonly kind: string; readonly resource?: string }): string | undefined {
  if (request.kind !== 'list') return REPORTING;
  const { resource = '' } = request;
  return SCOPED_RESOURCES.includes(resource) ? `${resource}:read` : undefined;
}
