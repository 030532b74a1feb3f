import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject } from '../../functions/workflow/json.ts';
import { authenticate, requireRevision, requireScope } from './authenticate.ts';
import { envelope, Refusal, refusalFor } from './envelope.ts';
import type { Answer, Call, Endpoint, Incoming } from './exchange.ts';
import { applyFault } from './faults/faults.ts';
import type { FaultEffect } from './faults/parse-fault.ts';
import { recordCall, reset, sendAnswer } from './http.ts';
import { listPage } from './lists.ts';
import { authorizationEndpoint } from './oauth/authorize.ts';
import { OAuthError, oauthError, tokenEndpoint } from './oauth/tokens.ts';
import { createReport, getReport, queryPurchases } from './reporting/reports.ts';
import { LISTS } from './settings.ts';
import type { SandboxState } from './state.ts';

/** Serves every endpoint of the platform. The storage host serves the report files. */
export async function servePlatform(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path, search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const reportId = reportIdOf(path);
  const about = { endpoint: routeOf(path).endpoint, path, query, reportId };
  const call = recordCall(state, request, about);
  const previousGet = recordGet(state, call);
  const ordinal = reportId === undefined ? undefined : state.reports.get(reportId)?.ordinal;
  const fault = state.faults.take({ endpoint: call.endpoint, ordinal });
  if (fault.revoke) state.accessTokens.clear();
  if (fault.reset === 'before') return reset(response);
  call.body = await text(request);
  if (fault.hang && !fault.processed) return;
  const incoming = { ...call, query: new URLSearchParams(query) };
  const answer = applyFault(answerWithFault(state, incoming, fault, previousGet), fault, state.now());
  recordAnswer(call, answer);
  if (fault.hang) return;
  if (fault.reset === 'after') return reset(response);
  call.requestId ??= `req_${randomUUID()}`;
  response.setHeader('x-request-id', call.requestId);
  await sendAnswer(response, answer, call, fault);
}

/** After a status of 300 or more, the request is not processed, unless the fault says `processed`. */
function answerWithFault(
  state: SandboxState,
  request: Incoming,
  { status = 200, processed }: FaultEffect,
  previousGet: number | undefined,
): Answer {
  const answer = status < 300 || processed ? answerWithoutFault(state, request, previousGet) : undefined;
  if (answer && status < 300) return answer;
  if (routeOf(request.path).endpoint !== 'token') return envelope(refusalFor(status));
  const error = status === 401 ? 'invalid_client' : 'server_error';
  return oauthError(new OAuthError(error, `The sandbox was told to answer ${status}.`, status));
}

function answerWithoutFault(state: SandboxState, request: Incoming, previousGet: number | undefined): Answer {
  try {
    return respond(state, request, previousGet);
  } catch (error) {
    if (error instanceof Refusal) return envelope(error);
    throw error;
  }
}

/** Records when the report was polled, whatever the answer will be. @returns the time of the previous GET */
function recordGet({ lastGet }: SandboxState, { reportId, at }: Call): number | undefined {
  if (reportId === undefined) return undefined;
  const previous = lastGet.get(reportId);
  lastGet.set(reportId, at);
  return previous;
}

function recordAnswer(call: Call, { json, status }: Answer): void {
  if (!isObject(json)) return;
  if (call.endpoint === 'create' && status < 300 && typeof json.id === 'string') call.reportId = json.id;
  const { error } = json;
  if (isObject(error) && typeof error.request_id === 'string') call.requestId = error.request_id;
}

const ROUTES: readonly (readonly [path: RegExp, endpoint: Endpoint, ...methods: string[]])[] = [
  [/^\/oauth2\/token$/, 'token', 'POST'],
  [/^\/oauth2\/auth$/, 'authorize', 'GET', 'POST'],
  [/^\/reports$/, 'create', 'POST'],
  [/^\/reports\/purchases$/, 'purchases', 'POST'],
  [/^\/reports\/([^/]+)$/, 'report', 'GET'],
  [new RegExp(`^/(${LISTS.join('|')})$`), 'list', 'GET'],
];

/** Names the endpoint of a path, for faults and the journal. */
function routeOf(path: string): { endpoint: Endpoint; methods: readonly string[] } {
  const [, endpoint = 'unknown', ...methods] = ROUTES.find(([route]) => route.test(path)) ?? [];
  return { endpoint, methods };
}

function reportIdOf(path: string): string | undefined {
  return routeOf(path).endpoint === 'report' ? decodeURIComponent(path.slice('/reports/'.length)) : undefined;
}

/**
 * Answers a request. It checks authentication, then the revision (contract 5.6), scope and parameters.
 *
 * @param previousGet time of the previous GET of the same report
 * @throws Refusal
 */
function respond(state: SandboxState, request: Incoming, previousGet: number | undefined): Answer {
  const { path } = request;
  const { endpoint } = routeOf(path);
  if (endpoint === 'token' || endpoint === 'authorize') {
    requireMethod(request);
    return endpoint === 'token' ? tokenEndpoint(state, request) : authorizationEndpoint(state, request);
  }
  const reporting = path.startsWith('/reports');
  const grant = authenticate(state, request, reporting);
  requireRevision(request);
  requireMethod(request);
  requireScope(grant, reporting ? 'reporting:read' : `${path.slice(1)}:read`);
  if (endpoint === 'create') return createReport(state, request, grant);
  if (endpoint === 'purchases') return queryPurchases(state, request, grant);
  if (endpoint === 'list') return listPage(state, request, grant);
  return getReport(state, reportIdOf(path) ?? '', grant, previousGet);
}

function requireMethod({ method, path }: Incoming): void {
  if (routeOf(path).methods.includes(method)) return;
  throw new Refusal(404, 'not_found', `There is nothing at ${method} ${path}.`);
}
