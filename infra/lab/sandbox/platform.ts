import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject } from '../../../functions/workflow/json.ts';
import { authenticate, requireRevision } from './authenticate.ts';
import { type Answer, type Call, type Endpoint, oauthRefusal, Refusal, refusal } from './exchange.ts';
import { applyFault, type FaultEffect } from './faults.ts';
import { receive, reset, sendAnswer } from './http.ts';
import { listPage } from './lists.ts';
import { authorizationEndpoint } from './oauth/authorize.ts';
import { tokenEndpoint } from './oauth/tokens.ts';
import { createReport, getReport, queryPurchases } from './reporting/reports.ts';
import { LISTS } from './settings.ts';
import type { Grant, SandboxState } from './state.ts';

/** Serves every endpoint of the platform. The storage host serves the report files. */
export async function servePlatform(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { call, fault } = receive(state, request, (path) => {
    const { endpoint } = routeOf(path);
    return { endpoint, reportId: endpoint === 'report' ? path.slice('/reports/'.length) : undefined };
  });
  if (fault.revoke) state.accessTokens.clear();
  if (fault.reset === 'before') return reset(response);
  call.body = await text(request);
  if (fault.hang && !fault.processed) return;
  const answer = applyFault(answerWithFault(state, call, fault), fault, state.now());
  recordAnswer(call, answer);
  if (fault.hang) return;
  if (fault.reset === 'after') return reset(response);
  call.requestId ??= `req_${randomUUID()}`;
  response.setHeader('x-request-id', call.requestId);
  await sendAnswer(response, answer, call, fault);
}

/** After a status of 300 or more, the request is not processed, unless the fault says `processed`. */
function answerWithFault(state: SandboxState, call: Call, { status = 200, processed }: FaultEffect): Answer {
  const answer = status < 300 || processed ? answerTo(state, call) : undefined;
  if (answer && status < 300) return answer;
  const message = `The sandbox was told to answer ${status}.`;
  if (call.endpoint !== 'token') return refusal(status, message).answer;
  return oauthRefusal(status === 401 ? 'invalid_client' : 'server_error', message, status).answer;
}

function answerTo(state: SandboxState, call: Call): Answer {
  try {
    return respond(state, call);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}

function recordAnswer(call: Call, { json, status }: Answer): void {
  if (!isObject(json)) return;
  if (call.endpoint === 'create' && status < 300 && typeof json.id === 'string') call.reportId = json.id;
  const { error } = json;
  if (isObject(error) && typeof error.request_id === 'string') call.requestId = error.request_id;
}

interface Route {
  readonly endpoint: Endpoint;
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** For a client without an access token. */
  readonly open?: (state: SandboxState, request: Call) => Answer;
  readonly answer?: (state: SandboxState, request: Call, grant: Grant) => Answer;
}

const LIST = new RegExp(`^/(${LISTS.join('|')})$`);
const ROUTES: readonly Route[] = [
  { endpoint: 'token', path: /^\/oauth2\/token$/, methods: ['POST'], open: tokenEndpoint },
  { endpoint: 'authorize', path: /^\/oauth2\/auth$/, methods: ['GET', 'POST'], open: authorizationEndpoint },
  { endpoint: 'create', path: /^\/reports$/, methods: ['POST'], answer: createReport },
  { endpoint: 'purchases', path: /^\/reports\/purchases$/, methods: ['POST'], answer: queryPurchases },
  { endpoint: 'report', path: /^\/reports\/([^/]+)$/, methods: ['GET'], answer: getReport },
  { endpoint: 'list', path: LIST, methods: ['GET'], answer: listPage },
];
const UNKNOWN: Route = { endpoint: 'unknown', path: /^/, methods: [] };

function routeOf(path: string): Route {
  return ROUTES.find((route) => route.path.test(path)) ?? UNKNOWN;
}

/** Checks authentication, then the revision (contract 5.6), scope and parameters. @throws Refusal */
function respond(state: SandboxState, call: Call): Answer {
  const { path, method } = call;
  const { methods, open, answer } = routeOf(path);
  const isServed = methods.includes(method);
  if (open && isServed) return open(state, call);
  const isReporting = path.startsWith('/reports');
  const grant = authenticate(state, call, isReporting);
  requireRevision(call);
  if (!answer || !isServed) throw refusal(404, `There is nothing at ${method} ${path}.`);
  const scope = isReporting ? 'reporting:read' : `${path.slice(1)}:read`;
  if (!grant.scopes.includes(scope)) throw refusal(403, `The token lacks the scope ${scope}.`);
  return answer(state, call, grant);
}
