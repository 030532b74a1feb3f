import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Grant, ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { TABLES_PREFIX } from '../../functions/workflow/table.ts';
import { grantKey } from './encryption-key.ts';

interface ReaderPolicyProps {
  readonly database: string;
  readonly workgroup: string;
  readonly bucket: Bucket;
  /** The prefix of the workgroup's results in the bucket. */
  readonly results: string;
  readonly encryptionKey?: IKey | undefined;
}

/** Creates a policy that allows queries of the tables in Athena. The owner of the AWS account attaches it to a person or a tool. */
export function createReaderPolicy(scope: Construct, id: string, props: ReaderPolicyProps): ManagedPolicy {
  const { database, workgroup, bucket, results, encryptionKey } = props;
  const { stackName, region } = Stack.of(scope);
  // IAM has no Regions: a name is unique in an AWS account.
  const policy = new ManagedPolicy(scope, id, {
    managedPolicyName: `${stackName}-reader-${region}`,
    description: `Queries the tables of ${stackName}`,
  });
  const allow = (actions: string[], resourceArns: string[]) =>
    Grant.addToPrincipal({ grantee: policy, actions, resourceArns });
  const run = ['StartQueryExecution', 'StopQueryExecution', 'GetQueryExecution', 'GetQueryResults'];
  const look = ['GetWorkGroup', 'ListNamedQueries', 'GetNamedQuery', 'BatchGetNamedQuery'];
  allow(
    [...run, ...look].map((action) => `athena:${action}`),
    [arnOf(scope, 'athena', 'workgroup', workgroup)],
  );
  allow(['glue:GetDatabase', 'glue:GetTable', 'glue:GetTables'], glueArns(scope, database));
  // Every query of Athena reads the database `default` too.
  allow(['glue:GetDatabase'], [arnOf(scope, 'glue', 'database', 'default')]);
  allow(['s3:GetBucketLocation', 's3:ListBucket'], [bucket.bucketArn]);
  allow(['s3:GetObject'], [bucket.arnForObjects(`${TABLES_PREFIX}*`), bucket.arnForObjects(`${results}*`)]);
  const upload = ['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'];
  allow(upload, [bucket.arnForObjects(`${results}*`)]);
  grantKey(policy, encryptionKey, 's3', ['kms:Decrypt', 'kms:GenerateDataKey']);
  return policy;
}

/** The tables of a database. Glue checks the catalog and the database too. */
export function glueArns(scope: Construct, database: string): string[] {
  return [
    arnOf(scope, 'glue', 'catalog'),
    arnOf(scope, 'glue', 'database', database),
    arnOf(scope, 'glue', 'table', `${database}/*`),
  ];
}

function arnOf(scope: Construct, service: string, resource: string, resourceName?: string): string {
  return Stack.of(scope).formatArn({
    service,
    resource,
    ...(resourceName === undefined
      ? { arnFormat: ArnFormat.NO_RESOURCE_NAME }
      : { resourceName, arnFormat: ArnFormat.SLASH_RESOURCE_NAME }),
  });
}
