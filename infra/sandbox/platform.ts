import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject } from '../../functions/workflow/json.ts';
import { authenticate, requireRevision, requireScope } from './authenticate.ts';
import { answerAsTold, Refusal, refusal } from './envelope.ts';
import type { Answer, Call, Endpoint } from './exchange.ts';
import { applyFault } from './faults/faults.ts';
import type { FaultEffect } from './faults/parse-fault.ts';
import { recordCall, reset, sendAnswer } from './http.ts';
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
  const { pathname: path, search: query } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const { endpoint } = routeOf(path);
  const reportId = endpoint === 'report' ? decodeURIComponent(path.slice('/reports/'.length)) : undefined;
  const about = { endpoint, path, query, reportId };
  const call = recordCall(state, request, about);
  const ordinal = reportId === undefined ? undefined : state.reports.get(reportId)?.ordinal;
  const fault = state.faults.take({ endpoint, ordinal });
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
function answerWithFault(
  state: SandboxState,
  request: Call,
  { status = 200, processed }: FaultEffect,
): Answer {
  const answer = status < 300 || processed ? answerTo(state, request) : undefined;
  return answer && status < 300 ? answer : answerAsTold(status, request);
}

function answerTo(state: SandboxState, request: Call): Answer {
  try {
    return respond(state, request);
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

const [GET, POST] = [['GET'], ['POST']];
const LIST = new RegExp(`^/(${LISTS.join('|')})$`);
const ROUTES: readonly Route[] = [
  { endpoint: 'token', path: /^\/oauth2\/token$/, methods: POST, open: tokenEndpoint },
  {
    endpoint: 'authorize',
    path: /^\/oauth2\/auth$/,
    methods: [...GET, ...POST],
    open: authorizationEndpoint,
  },
  { endpoint: 'create', path: /^\/reports$/, methods: POST, answer: createReport },
  { endpoint: 'purchases', path: /^\/reports\/purchases$/, methods: POST, answer: queryPurchases },
  { endpoint: 'report', path: /^\/reports\/([^/]+)$/, methods: GET, answer: getReport },
  { endpoint: 'list', path: LIST, methods: GET, answer: listPage },
];
const UNKNOWN: Route = { endpoint: 'unknown', path: /^/, methods: [] };

function routeOf(path: string): Route {
  return ROUTES.find((route) => route.path.test(path)) ?? UNKNOWN;
}

/** Checks authentication, then the revision (contract 5.6), scope and parameters. @throws Refusal */
function respond(state: SandboxState, request: Call): Answer {
  const { path, method } = request;
  const { methods, open, answer } = routeOf(path);
  const absent = refusal(404, 'not_found', `There is nothing at ${method} ${path}.`);
  if (open && methods.includes(method)) return open(state, request);
  if (open) throw absent;
  const reporting = path.startsWith('/reports');
  const grant = authenticate(state, request, reporting);
  requireRevision(request);
  if (!answer || !methods.includes(method)) throw absent;
  requireScope(grant, reporting ? 'reporting:read' : `${path.slice(1)}:read`);
  return answer(state, request, grant);
}
