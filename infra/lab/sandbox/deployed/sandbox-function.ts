import * as z from 'zod/mini';
import { createS3Client } from '../../../../functions/aws/s3.ts';
import { createSecrets } from '../../../../functions/aws/secrets.ts';
import { createCredentialStore, isOAuth, readCredential } from '../../../../functions/token/credential.ts';
import { createCredential } from '../credentials.ts';
import { type Answer, type Call, refusal } from '../exchange.ts';
import { createAdvertisers, type HostLimits, type PlatformState } from '../platform-state.ts';
import { answerTo, endpointOf, requestIdOf } from '../routes.ts';
import { EXAMPLE_ADVERTISERS } from '../sandbox-options.ts';
import { createReportBucket, type ReportBucket } from './report-bucket.ts';
import { createSignedTokens } from './signed-tokens.ts';

/** The event of a function URL: version 2.0 of the payload. */
const FunctionUrlEvent = z.object({
  rawPath: z.string(),
  rawQueryString: z.string(),
  /** Names in lower case. */
  headers: z.record(z.string(), z.string()),
  body: z.optional(z.string()),
  isBase64Encoded: z.boolean(),
  requestContext: z.object({ http: z.object({ method: z.string() }) }),
});
type FunctionUrlEvent = z.infer<typeof FunctionUrlEvent>;

/** The answer that a function URL sends to the client. */
export interface FunctionUrlResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const Settings = z.object({
  /** The account, which is also the one of the main stack's config. */
  ACCOUNT: z.string(),
  /** The secret is `<prefix>/<account>/credential`. */
  SECRET_PREFIX: z.string(),
  BUCKET: z.string(),
  BUCKET_OWNER: z.string(),
});

/** Lambda refuses a larger result, and the client would read a 502 without a reason. */
const MAX_RESULT_BYTES = 6 * 1024 ** 2;

/** A request for a report or a token has a few hundred. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * What the function's 512 MB hold several times over. A report of 45 days with all advertisers, metrics and
 * dimensions is far below it. The purchases of the 300 years that a date may be in fit too.
 */
const FUNCTION_LIMITS: HostLimits = { reportBytes: 16 * 1024 ** 2 };

/** The items of lists are older than this. A function without memory does not know when it began. */
const STARTED_AT = Date.parse('2026-01-01T00:00:00Z');

let state: PlatformState | undefined;

/** The Lambda function: the platform behind a function URL. */
export async function handler(event: unknown): Promise<FunctionUrlResult> {
  state ??= await readState();
  return serveFunctionUrl(FunctionUrlEvent.parse(event), state);
}

/** Reads the environment and the secret. A container keeps them while it is warm. */
async function readState(): Promise<PlatformState> {
  const { ACCOUNT, SECRET_PREFIX, BUCKET, BUCKET_OWNER } = Settings.parse(process.env);
  const store = createCredentialStore(createSecrets(), SECRET_PREFIX, ACCOUNT);
  const { credential } = await readCredential(store, ACCOUNT);
  if (!isOAuth(credential)) throw new TypeError('The secret of the sandbox has no client_id.');
  const { client_id: clientId, client_secret: clientSecret } = credential;
  const client = { account: ACCOUNT, clientId, clientSecret };
  return createDeployedState(client, { s3: createS3Client(), bucket: BUCKET, owner: BUCKET_OWNER });
}

/**
 * The state of the platform for one client. Nothing of it is in memory, so any number of functions agree.
 * What needs a memory is left out: consents, faults, revoked tokens, and the refusal of a report that is
 * polled too soon.
 */
export function createDeployedState(
  client: { readonly account: string; readonly clientId: string; readonly clientSecret: string },
  bucket: ReportBucket,
  now: () => number = Date.now,
): PlatformState {
  const credential = createCredential(client);
  return {
    options: {},
    limits: FUNCTION_LIMITS,
    now,
    startedAt: STARTED_AT,
    credentials: [credential],
    advertisers: createAdvertisers(EXAMPLE_ADVERTISERS, STARTED_AT),
    accessTokens: createSignedTokens(credential, now),
    reports: createReportBucket(bucket, now),
  };
}

/** Answers a request of a function URL. */
export async function serveFunctionUrl(
  event: FunctionUrlEvent,
  platform: PlatformState,
): Promise<FunctionUrlResult> {
  const { rawPath: path, rawQueryString: query, headers, body = '', isBase64Encoded } = event;
  const call: Call = {
    ...endpointOf(path),
    at: platform.now(),
    method: event.requestContext.http.method,
    path,
    query,
    headers,
    // Function URLs encode a body whose Content-Type they do not know as text.
    body: isBase64Encoded ? Buffer.from(body, 'base64').toString() : body,
    status: null,
    bytes: 0,
  };
  if (Buffer.byteLength(call.body) > MAX_BODY_BYTES)
    return resultOf(refusal(413, `The body has more than ${MAX_BODY_BYTES} bytes.`).answer);
  const answer = await answerTo(platform, call);
  const result = resultOf(answer);
  // The result is sent to Lambda as JSON, which escapes each quote of the body.
  if (Buffer.byteLength(JSON.stringify(result)) <= MAX_RESULT_BYTES) return result;
  const message = `The answer has more than ${MAX_RESULT_BYTES} bytes, which Lambda does not send. Ask for less.`;
  return resultOf(refusal(422, message).answer);
}

function resultOf(answer: Answer): FunctionUrlResult {
  const { status, headers, json, text = json === undefined ? '' : JSON.stringify(json) } = answer;
  return { statusCode: status, headers: { ...headers, 'x-request-id': requestIdOf(answer) }, body: text };
}
