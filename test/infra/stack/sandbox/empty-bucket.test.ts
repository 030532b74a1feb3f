import { expect, it, onTestFinished } from 'vitest';
import { handler } from '../../../../infra/stack/sandbox/empty-bucket.ts';
import { callCustomResource } from '../../../support/custom-resource.ts';
import { awsEnvironment, setEnvironment } from '../../../support/lambda.ts';
import { listen } from '../../../support/listen.ts';

// What a bucket of S3 with versions looks like. test/checks/empty-bucket.check.ts empties a real one.

const VERSIONS = [
  '<Version><Key>a</Key><VersionId>1</VersionId></Version>',
  '<DeleteMarker><Key>a</Key><VersionId>2</VersionId></DeleteMarker>',
  '<Version><Key>b</Key><VersionId>3</VersionId></Version>',
];

/** Lists two versions at a time, and removes what it is told unless `refuses`. */
async function startBucket({ refuses = '' } = {}) {
  const left = [...VERSIONS];
  const server = await listen(({ method, body }, response) => {
    response.setHeader('content-type', 'application/xml');
    if (method === 'GET')
      return response.end(`<ListVersionsResult>${left.slice(0, 2).join('')}</ListVersionsResult>`);
    if (refuses === '')
      for (const [, id] of body.matchAll(/<VersionId>(\d)<\/VersionId>/g))
        left.splice(
          left.findIndex((version) => version.includes(`<VersionId>${id}<`)),
          1,
        );
    return response.end(`<DeleteResult>${refuses}</DeleteResult>`);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ S3: server.url }));
  return { left, requests: server.requests };
}

const BUCKET = { BucketName: 'sandbox-exports' };

it('removing it deletes all versions and markers, and tells CloudFormation', async () => {
  const { left } = await startBucket();
  const { method, contentType, answer } = await callCustomResource(handler, 'Delete', BUCKET);
  expect(left).toEqual([]);
  expect({ method, contentType }).toEqual({ method: 'PUT', contentType: '' });
  expect(answer).toEqual({
    Status: 'SUCCESS',
    PhysicalResourceId: 'sandbox-exports',
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'Contents',
  });
});

it.each(['Create', 'Update'])('a %s of it leaves the bucket alone', async (type) => {
  const { requests } = await startBucket();
  const { answer } = await callCustomResource(handler, type, BUCKET);
  expect(answer).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'sandbox-exports' });
  expect(requests).toEqual([]);
});

it('an object that S3 keeps fails the removal, which names it', async () => {
  const error = '<Error><Key>a</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>';
  await startBucket({ refuses: error });
  const { answer } = await callCustomResource(handler, 'Delete', BUCKET);
  expect(answer).toMatchObject({
    Status: 'FAILED',
    Reason: 'The bucket could not be emptied (Error: a: AccessDenied Access Denied)',
  });
});
