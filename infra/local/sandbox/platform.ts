import type { IncomingMessage, ServerResponse } from 'node:http';
import { envelope, Refusal, refusalOf } from './envelope.ts';
import { type Answer, type Call, type Incoming, isObject } from './exchange.ts';
import type { Misbehaviour } from './faults/faults.ts';
import { reshape } from './faults/reshape.ts';
import { headersOf, readBody, reset, write } from './listen.ts';
import { OAuthError } from './oauth/error.ts';
import { oauthError } from './oauth/token.ts';
import { revokeAccessTokens } from './oauth/tokens.ts';
import { endpointOf, reportIdOf, respond } from './routes.ts';
import type { World } from './world.ts';

/** The platform's host: everything but the files. */
export async function servePlatform(
  world: World,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.sendDate = false;
  response.setHeader('date', new Date(world.now()).toUTCString());
  const call = record(world, message);
  const previousGet = noteGet(world, call);
  const ordinal = call.reportId === undefined ? undefined : world.reports.get(call.reportId)?.ordinal;
  const fault = world.faults.take({ endpoint: call.endpoint, path: call.path, ordinal });
  if (fault.revoke) revokeAccessTokens(world);
  if (fault.reset === 'before') return reset(response);
  call.body = await readBody(message);
  if (fault.hang && !fault.processed) return;
  const request = { ...call, query: new URLSearchParams(call.query) };
  const answer = reshape(answerTo(world, request, fault, previousGet), fault, world.now());
  noteAnswer(call, answer);
  if (fault.hang) return;
  if (fault.reset === 'after') return reset(response);
  await write(response, answer, call, fault);
}

/** A status of 300 or more that a fault asks for is answered without processing the request. */
function answerTo(
  world: World,
  request: Incoming,
  fault: Misbehaviour,
  previousGet: number | undefined,
): Answer {
  const { status = 200 } = fault;
  if (status < 300 || fault.processed) {
    const answer = answerHonestly(world, request, previousGet);
    if (status < 300) return answer;
  }
  const token = endpointOf(request.path) === 'token';
  if (token)
    return oauthError(new OAuthError(status === 401 ? 'invalid_client' : 'server_error', 'As told.', status));
  return envelope(refusalOf(status), world.options.bareEnvelope ?? false);
}

function answerHonestly(world: World, request: Incoming, previousGet: number | undefined): Answer {
  const bare = world.options.bareEnvelope ?? false;
  const unknown = new Refusal(404, 'not_found', 'There is nothing here.');
  try {
    if (request.path === '') return envelope(unknown, bare);
    return respond(world, request, previousGet);
  } catch (error) {
    if (error instanceof Refusal) return envelope(error, bare);
    throw error;
  }
}

/** The journal's line, made when the request arrives. A path outside the base path is recorded as ''. */
function record(world: World, message: IncomingMessage): Call {
  const url = new URL(message.url ?? '/', 'http://127.0.0.1');
  const base = world.options.basePath ?? '';
  const path = url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : '';
  const reportId = reportIdOf(path);
  const call: Call = {
    at: world.now(),
    host: 'platform',
    endpoint: endpointOf(path),
    method: message.method ?? '',
    path,
    query: url.search,
    headers: headersOf(message),
    body: '',
    status: null,
    ...(reportId === undefined ? {} : { reportId }),
    bytes: 0,
  };
  world.journal.push(call);
  return call;
}

/** Every GET of a report counts towards the next one's distance, whatever it is answered. */
function noteGet(world: World, call: Call): number | undefined {
  if (call.reportId === undefined) return undefined;
  const previous = world.lastGet.get(call.reportId);
  world.lastGet.set(call.reportId, call.at);
  return previous;
}

function noteAnswer(call: Call, { json: body, status }: Answer): void {
  if (!isObject(body)) return;
  if (call.endpoint === 'create' && status < 300 && typeof body.id === 'string') call.reportId = body.id;
  const { error } = body;
  if (isObject(error) && typeof error.request_id === 'string') call.requestId = error.request_id;
}
