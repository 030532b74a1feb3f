import { authenticate, requireRevision, requireScope } from './authenticate.ts';
import { Refusal } from './envelope.ts';
import type { Answer, Endpoint, Incoming } from './exchange.ts';
import { listPage } from './lists.ts';
import { authorizationEndpoint } from './oauth/authorize.ts';
import { tokenEndpoint } from './oauth/token-endpoint.ts';
import { createReport, getReport, queryPurchases } from './reporting/reports.ts';
import { LISTS } from './settings.ts';
import type { SandboxState } from './state.ts';

/** Names the endpoint of a path, for faults and the journal. */
export function endpointOf(path: string): Endpoint {
  if (path === '/oauth2/token') return 'token';
  if (path === '/oauth2/auth') return 'authorize';
  if (path === '/reports') return 'create';
  if (path === '/reports/purchases') return 'purchases';
  if (/^\/reports\/[^/]+$/.test(path)) return 'report';
  return LISTS.includes(path.slice(1)) ? 'list' : 'unknown';
}

export function reportIdOf(path: string): string | undefined {
  return endpointOf(path) === 'report' ? decodeURIComponent(path.slice('/reports/'.length)) : undefined;
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
 * Answers a request. It checks authentication, then the revision (contract 5.6), then the scope, then the parameters.
 *
 * @param previousGet time of the previous GET of the same report
 * @throws Refusal
 */
export function respond(state: SandboxState, request: Incoming, previousGet: number | undefined): Answer {
  const { path } = request;
  const endpoint = endpointOf(path);
  if (endpoint === 'token' || endpoint === 'authorize') {
    requireMethod(request, endpoint);
    return endpoint === 'token' ? tokenEndpoint(state, request) : authorizationEndpoint(state, request);
  }
  if (path === '') throw nothingAt('this address');
  const reporting = path.startsWith('/reports');
  const grant = authenticate(state, request, reporting);
  requireRevision(state, request);
  requireMethod(request, endpoint);
  requireScope(grant, reporting ? 'reporting:read' : `${path.slice(1)}:read`);
  if (endpoint === 'create') return createReport(state, request, grant);
  if (endpoint === 'purchases') return queryPurchases(state, request, grant);
  if (endpoint === 'list') return listPage(state, request, grant);
  return getReport(state, reportIdOf(path) ?? '', grant, previousGet);
}

function requireMethod({ method, path }: Incoming, endpoint: Endpoint): void {
  const allowed = METHODS[endpoint];
  if (allowed.includes(method)) return;
  if (allowed.length === 0) throw nothingAt(path);
  const methods = allowed.join(', ');
  throw new Refusal(405, 'method_not_allowed', `${path} allows only ${methods}.`, {
    headers: { allow: methods },
  });
}

function nothingAt(place: string): Refusal {
  return new Refusal(404, 'not_found', `There is nothing at ${place}.`);
}
