import { Annotations, CfnResource, Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { CfnDatabase, CfnTable, type IDatabaseRef } from 'aws-cdk-lib/aws-glue';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { type CatalogTable, catalogTable, createCatalogTable } from '../../../functions/aws/catalog-table.ts';
import { catalogName, LEDGER, LEDGER_COLUMNS, metricType } from '../../../functions/workflow/table.ts';
import { savedQueries } from '../catalog/queries.ts';
import { documentTable, LEDGER_TABLE, tableWords } from '../catalog/table-words.ts';
import { type Config, RESULTS_PREFIX } from '../config/config.ts';
import { type ConfiguredExport, isSame, tableSource, tablesOf } from '../config/exports.ts';
import { targetOfConfig } from '../config/sandbox-config.ts';
import type { ExportBucket } from './export-bucket.ts';
import { createReaderPolicy, grantCatalog } from './reader-policy.ts';

/** 100 GB, which cost $0.50 at $5 per TB. Athena cancels a query that reads more. */
const MAX_BYTES_SCANNED = 100 * 1000 ** 3;

interface ExportTablesProps {
  readonly config: Config;
  readonly bucket: ExportBucket;
  /** A database of the caller. By default, one is created. */
  readonly database: IDatabaseRef | undefined;
}

/**
 * The tables in the Glue Data Catalog, and an Athena workgroup to query them. Each table is one resource, so
 * removing its export from the config removes it from the catalog; its objects stay in the bucket.
 */
export class ExportTables extends Construct {
  /** Its name is known before the deployment, because a setting and policies contain it. */
  readonly database: string;
  readonly workgroup: string;
  /** The ARN of the managed policy for whoever queries the tables. */
  readonly readerPolicy: string;

  constructor(scope: Construct, id: string, { config, bucket, database: existing }: ExportTablesProps) {
    super(scope, id);
    const { stack, exports } = config;
    this.database = existing?.databaseRef.databaseName ?? catalogName(stack);
    const database = existing ? this.database : this.createDatabase(stack);
    this.workgroup = this.createWorkgroup(stack, bucket);
    const reader = { stack, database: this.database, workgroup: this.workgroup, bucket };
    this.readerPolicy = createReaderPolicy(this, 'Reader', reader);
    const { bucketName } = bucket.bucket;
    warnOfGuesses(this, exports);
    const schemas = tablesOf(exports, targetOfConfig(config), config);
    // A scope of their own, because a table may have any name that this construct uses.
    const tables = new Construct(this, 'Tables');
    for (const schema of schemas) {
      const words = tableWords(documentTable(schema, exports));
      createTable(tables, database, catalogTable(schema, bucketName, words));
    }
    const ledger = createCatalogTable(LEDGER, LEDGER_COLUMNS, bucketName, tableWords(LEDGER_TABLE));
    createTable(tables, database, ledger);
    const queries = new Construct(this, 'Queries');
    const { workgroup: workGroup } = this;
    for (const [name, { description, sql }] of Object.entries(savedQueries(schemas, { config })))
      new CfnNamedQuery(queries, name, { name, description, queryString: sql, database, workGroup });
  }

  /** To list the tables and read their schemas. */
  grantConsume(grantee: IGrantable): void {
    grantCatalog(this, grantee, this.database);
  }

  /** To read the schema of a table. */
  grantRead(grantee: IGrantable): void {
    grantCatalog(this, grantee, this.database, ['glue:GetTable']);
  }

  /** The name refers to the resource, so that what has it is created later. */
  private createDatabase(stack: string): string {
    return new CfnDatabase(this, 'Database', {
      catalogId: Stack.of(this).account,
      databaseInput: { name: this.database, description: `The tables of the exports of ${stack}` },
    }).ref;
  }

  private createWorkgroup(name: string, { bucket, key }: ExportBucket): string {
    return new CfnWorkGroup(this, 'Workgroup', {
      name,
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
          encryptionConfiguration: key
            ? { encryptionOption: 'SSE_KMS', kmsKey: key.keyArn }
            : { encryptionOption: 'SSE_S3' },
        },
      },
    }).ref;
  }
}

/** CfnTable would want each property under another name than the API of Glue, which the local Glue speaks. */
function createTable(scope: Construct, DatabaseName: string, TableInput: CatalogTable): void {
  // A construct keeps its children in an object with a prototype, in which `constructor` is taken.
  const id = TableInput.Name in {} ? `table-${TableInput.Name}` : TableInput.Name;
  new CfnResource(scope, id, {
    type: CfnTable.CFN_RESOURCE_TYPE_NAME,
    properties: { CatalogId: Stack.of(scope).account, DatabaseName, TableInput },
  });
}

/** Warns about metrics whose type is a guess, while there are no tables that would have to change it. */
function warnOfGuesses(scope: Construct, exports: readonly ConfiguredExport[]): void {
  for (const entry of exports) {
    const { account, name, columns = {} } = entry;
    const typed = Object.keys(columns).filter((metric) => columns[metric]?.type);
    const isGuess = (metric: string) =>
      !metricType(metric) && !typed.some((typedMetric) => isSame(typedMetric, metric));
    const { request } = tableSource(entry) ?? {};
    const guessed = request?.kind === 'report' ? request.metrics.filter(isGuess) : [];
    if (guessed.length > 0)
      Annotations.of(scope).addWarningV2(
        `ad-report-export:type:${account}.${name}`,
        `export ${name} of account ${account} stores ${guessed.join(', ')} as double, which rounds, because the names tell no ` +
          'type. Set each type in columns now: a table never changes a type.',
      );
  }
}
