import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../functions/workflow/json.ts';
import { envelope, Refusal, refusalFor } from './envelope.ts';
import type { Answer, Call, Incoming } from './exchange.ts';
import { applyFault } from './faults/apply-fault.ts';
import type { FaultEffect } from './faults/fault.ts';
import { readBody, recordCall, reset, sendAnswer } from './http.ts';
import { oauthError } from './oauth/token-endpoint.ts';
import { OAuthError } from './oauth/tokens.ts';
import { endpointOf, reportIdOf, respond } from './routes.ts';
import type { SandboxState } from './state.ts';

/** Serves every endpoint of the platform. The storage host serves the report files. */
export async function servePlatform(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { path, query } = splitUrl(state, request);
  const reportId = reportIdOf(path);
  const about = { host: 'platform', endpoint: endpointOf(path), path, query, reportId } as const;
  const call = recordCall(state, request, response, about);
  const previousGet = recordGet(state, call);
  const ordinal = reportId === undefined ? undefined : state.reports.get(reportId)?.ordinal;
  const fault = state.faults.take({ endpoint: call.endpoint, path, ordinal });
  if (fault.revoke) state.accessTokens.clear();
  if (fault.reset === 'before') return reset(response);
  call.body = await readBody(request);
  if (fault.hang && !fault.processed) return;
  const incoming = { ...call, query: new URLSearchParams(query) };
  const answer = applyFault(answerWithFault(state, incoming, fault, previousGet), fault, state.now());
  recordAnswer(call, answer);
  if (fault.hang) return;
  if (fault.reset === 'after') return reset(response);
  await sendAnswer(response, answer, call, fault);
}

/** If a fault sets a status of 300 or more, the request is not processed, unless the fault says `processed`. */
function answerWithFault(
  state: SandboxState,
  request: Incoming,
  { status = 200, processed }: FaultEffect,
  previousGet: number | undefined,
): Answer {
  const answer = status < 300 || processed ? answerWithoutFault(state, request, previousGet) : undefined;
  if (answer && status < 300) return answer;
  if (endpointOf(request.path) !== 'token') return envelope(refusalFor(status), state.options.bareEnvelope);
  const error = status === 401 ? 'invalid_client' : 'server_error';
  return oauthError(new OAuthError(error, `The sandbox was told to answer ${status}.`, status));
}

function answerWithoutFault(state: SandboxState, request: Incoming, previousGet: number | undefined): Answer {
  try {
    return respond(state, request, previousGet);
  } catch (error) {
    if (error instanceof Refusal) return envelope(error, state.options.bareEnvelope);
    throw error;
  }
}

/** The path is '' if it is outside the base path. */
function splitUrl({ options }: SandboxState, request: IncomingMessage): { path: string; query: string } {
  const { pathname, search } = new URL(request.url ?? '/', 'http://127.0.0.1');
  const base = options.basePath ?? '';
  return { path: pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : '', query: search };
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
