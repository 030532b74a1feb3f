import { authenticate, requireRevision, requireScope } from './authenticate.ts';
import { Refusal } from './envelope.ts';
import type { Answer, Endpoint, Incoming } from './exchange.ts';
import { isResource, listPage } from './lists.ts';
import { authorizationEndpoint } from './oauth/authorize.ts';
import { tokenEndpoint } from './oauth/token.ts';
import { purchases } from './reporting/purchases.ts';
import { createReport, getReport } from './reporting/reports.ts';
import type { World } from './world.ts';

/** What a request is for, by its path alone; faults and the journal name it so. */
export function endpointOf(path: string): Endpoint {
  if (path === '/oauth2/token') return 'token';
  if (path === '/oauth2/auth') return 'authorize';
  if (path === '/reports') return 'create';
  if (path === '/reports/purchases') return 'purchases';
  if (/^\/reports\/[^/]+$/.test(path)) return 'report';
  return isResource(path.slice(1)) ? 'list' : 'unknown';
}

const METHODS: Readonly<Record<Endpoint, readonly string[]>> = {
  token: ['POST'],
  authorize: ['GET', 'POST'],
  create: ['POST'],
  report: ['GET'],
  purchases: ['POST'],
  list: ['GET'],
  storage: [],
  unknown: [],
};

/**
 * Answers a request. The order of the checks is the contract's: authentication, then revision (5.6), then scope,
 * then what was sent.
 *
 * @param previousGet when the report was last asked for
 * @throws Refusal
 */
export function respond(world: World, request: Incoming, previousGet: number | undefined): Answer {
  const endpoint = endpointOf(request.path);
  if (endpoint === 'token' || endpoint === 'authorize') {
    requireMethod(request, endpoint);
    return endpoint === 'token' ? tokenEndpoint(world, request) : authorizationEndpoint(world, request);
  }
  const reporting = request.path.startsWith('/reports');
  const grant = authenticate(world, request, reporting);
  requireRevision(world, request);
  requireMethod(request, endpoint);
  requireScope(grant, reporting ? 'reporting:read' : `${request.path.slice(1)}:read`);
  if (endpoint === 'create') return createReport(world, request, grant);
  if (endpoint === 'purchases') return purchases(world, request, grant);
  if (endpoint === 'list') return listPage(world, request, grant);
  return getReport(world, reportIdOf(request.path) ?? '', grant, previousGet);
}

export function reportIdOf(path: string): string | undefined {
  return endpointOf(path) === 'report' ? decodeURIComponent(path.slice('/reports/'.length)) : undefined;
}

function requireMethod({ method, path }: Incoming, endpoint: Endpoint): void {
  const allowed = METHODS[endpoint];
  if (allowed.includes(method)) return;
  if (allowed.length === 0) throw new Refusal(404, 'not_found', `There is nothing at ${path}.`);
  throw new Refusal(405, 'method_not_allowed', `${path} takes ${allowed.join(', ')}.`, {
    headers: { allow: allowed.join(', ') },
  });
}
