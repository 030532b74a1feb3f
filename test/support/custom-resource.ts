import { listen } from './listen.ts';

type Handler = (event: unknown) => Promise<void>;

/** Calls the handler of a custom resource as CloudFormation does. @returns the answer that it sends */
export async function callCustomResource(handler: Handler, RequestType: string, properties: object) {
  await using cloudFormation = await listen((_, response) => response.end());
  await handler({
    RequestType,
    ResponseURL: `${cloudFormation.url}/answer?X-Amz-Signature=canary`,
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'Contents',
    ResourceProperties: { ServiceToken: 'arn', ...properties },
  });
  const [{ method, headers, body } = { method: '', headers: {}, body: '{}' }] = cloudFormation.requests;
  return { method, contentType: headers['content-type'], answer: JSON.parse(body) };
}
