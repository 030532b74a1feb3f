import type { IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { LOCAL_AWS_ACCOUNT } from '../../../../infra/lab/local/s3/server.ts';
import {
  createDeployedState,
  serveFunctionUrl,
} from '../../../../infra/lab/sandbox/deployed/sandbox-function.ts';
import { EXAMPLE_ADVERTISERS, EXAMPLE_REVISION } from '../../../../infra/lab/sandbox/sandbox-options.ts';
import { listen, type Seen } from '../../../support/listen.ts';
import { BUCKET, startTestS3 } from '../../../support/s3.ts';
import { stoppedClock } from '../../../support/steps.ts';
import { createClient, startClient } from './client.ts';

/** What serves the contract, for the tests that need no memory. */
export const HOSTS = {
  'the server of this machine': () => startClient(),
  'the Lambda function': () => startDeployedClient(),
};

const CLIENT = { account: 'sandbox', clientId: 'sandbox', clientSecret: 'sbx_cs_deployed' };

/**
 * Starts the Lambda function behind a server that does what a function URL does, on the local S3. Each
 * request gets a state of its own, as if it reached another container.
 *
 * @param start what the clock shows until the test moves it
 */
export async function startDeployedClient(start?: string) {
  const clock = stoppedClock(start);
  const now = () => clock.now().getTime();
  const s3 = await startTestS3({ now });
  const bucket = { s3: s3.client, bucket: BUCKET, owner: LOCAL_AWS_ACCOUNT };
  const server = await listen(async (seen, response) => {
    const { statusCode, headers, body } = await serveFunctionUrl(
      eventOf(seen),
      createDeployedState(CLIENT, bucket, now),
    );
    response.writeHead(statusCode, headers).end(body);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  onTestFinished(() => s3.close());
  const { clientId, clientSecret } = CLIENT;
  const served = { clientId, clientSecret, revision: EXAMPLE_REVISION, advertiserIds: EXAMPLE_ADVERTISERS };
  const sandbox = { baseUrl: server.url, ...served };
  return { ...createClient(sandbox, clock), sandbox, s3 };
}

/** Version 2.0 of the payload. A body that is not of a known type of text is in Base64. */
function eventOf({ method, path, headers, body }: Seen) {
  const [rawPath = '', rawQueryString = ''] = path.split('?', 2);
  const isText = /^(application\/json|text\/)/.test(headers['content-type'] ?? '');
  return {
    rawPath,
    rawQueryString,
    headers: Object.fromEntries(Object.entries(headers as IncomingHttpHeaders).map(joinValues)),
    ...(body !== '' && { body: isText ? body : Buffer.from(body).toString('base64') }),
    isBase64Encoded: body !== '' && !isText,
    requestContext: { http: { method } },
  };
}

function joinValues([name, value]: [string, string | string[] | undefined]): [string, string] {
  return [name, [value].flat().join(',')];
}
