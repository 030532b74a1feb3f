import { randomUUID } from 'node:crypto';
import { isObject } from '../../../functions/workflow/json.ts';
import { authenticate, requireRevision } from './authenticate.ts';
import { type Answer, type Call, type Endpoint, Refusal, refusal } from './exchange.ts';
import { LIST_NAMES, listEndpoint } from './lists.ts';
import { authorizationEndpoint } from './oauth/authorize.ts';
import { tokenEndpoint } from './oauth/tokens.ts';
import type { Consents, Grant, PlatformState } from './platform-state.ts';
import { purchasesEndpoint } from './reporting/purchases.ts';
import { createReportEndpoint, reportEndpoint } from './reporting/reports.ts';

/** Answers as the contract says, without any fault. */
export async function answerTo(state: PlatformState, call: Call): Promise<Answer> {
  try {
    return await respond(state, call);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}

/** The endpoint that a path belongs to, with the id of the report that it names. */
export function endpointOf(path: string): Pick<Call, 'endpoint' | 'reportId'> {
  const { endpoint } = routeOf(path);
  return { endpoint, reportId: endpoint === 'report' ? path.slice('/reports/'.length) : undefined };
}

/** The request_id that the answer names (contract 7.1), or another one. */
export function requestIdOf({ json }: Answer): string {
  const { error } = Object(json);
  return isObject(error) && typeof error.request_id === 'string' ? error.request_id : `req_${randomUUID()}`;
}

type Answered = Answer | Promise<Answer>;

interface Route {
  readonly endpoint: Endpoint;
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** For a client without an access token. */
  readonly open?: (state: PlatformState, request: Call) => Answered;
  /** The same, at a host that remembers consents. */
  readonly consent?: (state: PlatformState, request: Call, consents: Consents) => Answered;
  readonly answer?: (state: PlatformState, request: Call, grant: Grant) => Answered;
}

const LIST = new RegExp(`^/(${LIST_NAMES.join('|')})$`);
const ROUTES: readonly Route[] = [
  { endpoint: 'token', path: /^\/oauth2\/token$/, methods: ['POST'], open: tokenEndpoint },
  {
    endpoint: 'authorize',
    path: /^\/oauth2\/auth$/,
    methods: ['GET', 'POST'],
    consent: authorizationEndpoint,
  },
  { endpoint: 'create', path: /^\/reports$/, methods: ['POST'], answer: createReportEndpoint },
  { endpoint: 'purchases', path: /^\/reports\/purchases$/, methods: ['POST'], answer: purchasesEndpoint },
  { endpoint: 'report', path: /^\/reports\/([^/]+)$/, methods: ['GET'], answer: reportEndpoint },
  { endpoint: 'list', path: LIST, methods: ['GET'], answer: listEndpoint },
];
const UNKNOWN: Route = { endpoint: 'unknown', path: /^/, methods: [] };

function routeOf(path: string): Route {
  return ROUTES.find((route) => route.path.test(path)) ?? UNKNOWN;
}

/** Checks authentication, then the revision (contract 5.6), scope and parameters. @throws Refusal */
async function respond(state: PlatformState, call: Call): Promise<Answer> {
  const { path, method } = call;
  const { methods, open, consent, answer } = routeOf(path);
  const isServed = methods.includes(method);
  if (open && isServed) return open(state, call);
  if (consent && state.consents && isServed) return consent(state, call, state.consents);
  const isReporting = path.startsWith('/reports');
  const grant = authenticate(state, call, isReporting);
  requireRevision(call);
  if (!answer || !isServed) throw refusal(404, `There is nothing at ${method} ${path}.`);
  const scope = isReporting ? 'reporting:read' : `${path.slice(1)}:read`;
  if (!grant.scopes.includes(scope)) throw refusal(403, `The token lacks the scope ${scope}.`);
  return answer(state, call, grant);
}
