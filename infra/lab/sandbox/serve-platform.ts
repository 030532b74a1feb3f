import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject } from '../../../functions/workflow/json.ts';
import { type Answer, type Call, oauthRefusal, refusal } from './exchange.ts';
import { applyFault, type FaultEffect } from './faults.ts';
import { receive, reset, sendAnswer } from './http.ts';
import { answerTo, endpointOf, requestIdOf } from './routes.ts';
import type { SandboxState } from './state.ts';

/** Serves every endpoint of the platform, with the faults. The storage host serves the report files. */
export async function servePlatform(
  state: SandboxState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { call, fault } = receive(state, request, endpointOf);
  if (fault.revoke) state.accessTokens.clear();
  if (fault.reset === 'before') return reset(response);
  call.body = await text(request);
  if (fault.hang && !fault.processed) return;
  const answer = applyFault(await answerWithFault(state, call, fault), fault, state.now());
  recordReport(call, answer);
  if (fault.hang) return;
  if (fault.reset === 'after') return reset(response);
  call.requestId = requestIdOf(answer);
  response.setHeader('x-request-id', call.requestId);
  await sendAnswer(response, answer, call, fault);
}

/** After a status of 300 or more, the request is not processed, unless the fault says `processed`. */
async function answerWithFault(
  state: SandboxState,
  call: Call,
  { status = 200, processed }: FaultEffect,
): Promise<Answer> {
  const answer = status < 300 || processed ? await answerTo(state, call) : undefined;
  if (answer && status < 300) return answer;
  const message = `The sandbox was told to answer ${status}.`;
  if (call.endpoint !== 'token') return refusal(status, message).answer;
  return oauthRefusal(status === 401 ? 'invalid_client' : 'server_error', message, status).answer;
}

/** Tells the journal which report was created. */
function recordReport(call: Call, { json, status }: Answer): void {
  if (call.endpoint === 'create' && status < 300 && isObject(json) && typeof json.id === 'string')
    call.reportId = json.id;
}
