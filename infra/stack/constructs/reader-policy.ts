import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { RESULTS_PREFIX } from '../config/config.ts';
import { grantKey } from './encryption-key.ts';
import type { ExportBucket } from './export-bucket.ts';

interface ReaderPolicyProps {
  /** The stack in the config. */
  readonly stack: string;
  readonly database: string;
  readonly workgroup: string;
  readonly bucket: ExportBucket;
}

/** The calls of the workgroup by Athena's console, its drivers and `query`. */
const OF_WORKGROUP = [
  ...['GetWorkGroup', 'StartQueryExecution', 'StopQueryExecution', 'GetQueryExecution', 'GetQueryResults'],
  ...['GetQueryResultsStream', 'BatchGetQueryExecution', 'ListQueryExecutions'],
  ...['ListNamedQueries', 'GetNamedQuery', 'BatchGetNamedQuery'],
];

/** The lists before a query. AWS's example allows every resource: drivers write names in any case. */
const OF_ATHENA = [
  ...['ListEngineVersions', 'ListWorkGroups', 'ListDataCatalogs', 'GetDataCatalog'],
  ...['ListDatabases', 'GetDatabase', 'ListTableMetadata', 'GetTableMetadata'],
];

/** The calls to list and read the schemas of a database's tables. */
const LIST_AND_READ = ['glue:GetDatabase', 'glue:GetDatabases', 'glue:GetTable', 'glue:GetTables'];

/** Creates a policy for people who run commands. It lets them find the stack. */
export function createPolicy(scope: Construct, id: string, name: string, description: string) {
  const { stackName, region } = Stack.of(scope);
  // IAM has no Regions: a name is unique in an AWS account.
  const policy = new ManagedPolicy(scope, id, { managedPolicyName: `${name}-${region}`, description });
  const allow = (actions: string[], ...resourceArns: string[]) =>
    Grant.addToPrincipal({ grantee: policy, actions, resourceArns });
  // Commands read the outputs of the stack, and look for it by a resource if it has another name.
  const toFind = ['cloudformation:DescribeStacks', 'cloudformation:DescribeStackResources'];
  allow(toFind, arnOf(scope, 'cloudformation', `stack/${stackName}/*`));
  return { policy, allow };
}

/**
 * Creates a policy that allows queries of the tables in Athena. The owner of the AWS account attaches it to a
 * person or a tool. Readers see each other's results, because a workgroup that enforces where results go has
 * one place for all.
 *
 * @returns its ARN
 */
export function createReaderPolicy(scope: Construct, id: string, props: ReaderPolicyProps): string {
  const { stack, database, workgroup } = props;
  const { bucket, key } = props.bucket;
  const { policy, allow } = createPolicy(scope, id, `${stack}-reader`, `Queries the tables of ${stack}`);
  const athena = (names: string[]) => names.map((name) => `athena:${name}`);
  allow(athena(OF_WORKGROUP), arnOf(scope, 'athena', `workgroup/${workgroup}`));
  allow(athena(OF_ATHENA), '*');
  grantCatalog(scope, policy, database);
  // Every query of Athena reads the database `default` too.
  allow(['glue:GetDatabase', 'glue:GetDatabases'], arnOf(scope, 'glue', 'database/default'));
  // Lake Formation hands out the right to read data that is registered with it, and knows no resources here.
  allow(['lakeformation:GetDataAccess'], '*');
  allow(['s3:GetBucketLocation'], bucket.bucketArn);
  Grant.addToPrincipal({
    grantee: policy,
    actions: ['s3:ListBucket'],
    resourceArns: [bucket.bucketArn],
    // Without the condition, the keys of all reports could be listed.
    conditions: { StringLike: { 's3:prefix': [`${TABLES_PREFIX}*`, `${RESULTS_PREFIX}*`] } },
  });
  const results = bucket.arnForObjects(`${RESULTS_PREFIX}*`);
  allow(['s3:GetObject'], bucket.arnForObjects(`${TABLES_PREFIX}*`), results);
  allow(['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'], results);
  grantKey(policy, key, 's3', ['kms:Decrypt', 'kms:GenerateDataKey']);
  return policy.managedPolicyArn;
}

/** Grants calls for the tables of a database. Glue checks the catalog and the database too. */
export function grantCatalog(
  scope: Construct,
  grantee: IGrantable,
  database: string,
  actions: string[] = LIST_AND_READ,
): void {
  const resources = ['catalog', `database/${database}`, `table/${database}/*`];
  const resourceArns = resources.map((resource) => arnOf(scope, 'glue', resource));
  Grant.addToPrincipal({ grantee, actions, resourceArns });
}

function arnOf(scope: Construct, service: string, resource: string): string {
  return Stack.of(scope).formatArn({ service, resource, arnFormat: ArnFormat.NO_RESOURCE_NAME });
}
