import { CfnResource, Duration, Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { CfnDatabase, CfnTable } from 'aws-cdk-lib/aws-glue';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import {
  type CatalogTable,
  catalogTable,
  createCatalogTable,
} from '../../functions/workflow/catalog-table.ts';
import { catalogName, LEDGER, LEDGER_COLUMNS, type TableSchema } from '../../functions/workflow/table.ts';
import { savedQueries } from '../catalog/queries.ts';
import { LEDGER_WORDS, tableWords } from '../catalog/table-words.ts';
import { RESULTS_PREFIX } from '../config/config.ts';
import type { ConfiguredEntry, FinalAfter } from '../config/exports.ts';
import { createReaderPolicy, glueArns } from './reader-policy.ts';

/** A result can be fetched again for as long as Athena keeps the query's history. */
const KEEP_RESULTS = Duration.days(45);

/** 100 GB, which cost $0.50 at $5 per TB. Athena cancels a query that reads more. */
const MAX_BYTES_SCANNED = 100 * 1000 ** 3;

/** Known before the deployment, because a setting and the permissions of CurateReport contain it. */
export function databaseName(stack: string): string {
  return catalogName(stack);
}

interface ExportTablesProps {
  readonly exports: readonly ConfiguredEntry[];
  readonly config: FinalAfter;
  /** The tables of the exports. */
  readonly tables: readonly TableSchema[];
  readonly bucket: Bucket;
  readonly encryptionKey?: IKey | undefined;
}

/**
 * The tables in the Glue Data Catalog, and an Athena workgroup to query them. Each table is one resource, so
 * removing its export from the config removes it from the catalog; its objects stay in the bucket.
 */
export class ExportTables extends Construct {
  readonly database: string;
  readonly workgroup: string;
  /** The ARN of the managed policy for whoever queries the tables. */
  readonly readerPolicy: string;

  constructor(scope: Construct, id: string, props: ExportTablesProps) {
    super(scope, id);
    const { stackName, account } = Stack.of(this);
    this.database = databaseName(stackName);
    const database = new CfnDatabase(this, 'Database', {
      catalogId: account,
      databaseInput: { name: this.database, description: `The tables of the exports of ${stackName}` },
    });
    this.workgroup = this.workGroup(props).ref;
    this.readerPolicy = createReaderPolicy(this, 'Reader', {
      ...props,
      database: this.database,
      workgroup: this.workgroup,
      results: RESULTS_PREFIX,
    }).managedPolicyArn;
    const { bucketName } = props.bucket;
    // A scope of their own, because a table may have any name that this construct uses.
    const tables = new Construct(this, 'Tables');
    for (const schema of props.tables)
      createTable(tables, database, catalogTable(schema, bucketName, tableWords(schema, props.exports)));
    createTable(tables, database, createCatalogTable(LEDGER, LEDGER_COLUMNS, bucketName, LEDGER_WORDS));
    const queries = new Construct(this, 'Queries');
    for (const [name, { description, sql }] of Object.entries(savedQueries(props.tables, props)))
      new CfnNamedQuery(queries, name, {
        name,
        description,
        queryString: sql,
        database: database.ref,
        workGroup: this.workgroup,
      });
  }

  /** To read the schema of a table. */
  grantRead(grantee: IGrantable): void {
    const resourceArns = glueArns(this, this.database);
    Grant.addToPrincipal({ grantee, actions: ['glue:GetTable'], resourceArns });
  }

  private workGroup({ bucket, encryptionKey }: ExportTablesProps): CfnWorkGroup {
    bucket.addLifecycleRule({
      id: 'QueryResults',
      prefix: RESULTS_PREFIX,
      expiration: KEEP_RESULTS,
      noncurrentVersionExpiration: Duration.days(1),
    });
    return new CfnWorkGroup(this, 'Workgroup', {
      name: Stack.of(this).stackName,
      description: 'Queries of the exports',
      // CloudFormation cannot delete a workgroup that has queries.
      recursiveDeleteOption: true,
      workGroupConfiguration: {
        enforceWorkGroupConfiguration: true,
        publishCloudWatchMetricsEnabled: true,
        bytesScannedCutoffPerQuery: MAX_BYTES_SCANNED,
        resultConfiguration: {
          outputLocation: `s3://${bucket.bucketName}/${RESULTS_PREFIX}`,
          expectedBucketOwner: Stack.of(this).account,
          encryptionConfiguration: encryptionKey
            ? { encryptionOption: 'SSE_KMS', kmsKey: encryptionKey.keyArn }
            : { encryptionOption: 'SSE_S3' },
        },
      },
    });
  }
}

/** CfnTable would want each property under another name than the API of Glue, which the local Glue speaks. */
function createTable(scope: Construct, database: CfnDatabase, TableInput: CatalogTable): void {
  // A construct keeps its children in an object with a prototype. Other names keep their logical ids.
  const id = TableInput.Name in {} ? `table-${TableInput.Name}` : TableInput.Name;
  new CfnResource(scope, id, {
    type: CfnTable.CFN_RESOURCE_TYPE_NAME,
    properties: { CatalogId: Stack.of(scope).account, DatabaseName: database.ref, TableInput },
  });
}
