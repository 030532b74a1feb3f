import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import {
  ADVERTISER_LISTS,
  EXPORTS_PREFIX,
  FAILURE,
  LEASES_PREFIX,
  MANIFEST,
  PAGES_PREFIX,
  RUNS,
} from '../../../functions/workflow/keys.ts';
import { LEDGER, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import type { StepName } from '../config/memory.ts';
import type { AccountSecrets } from './account-secrets.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';

/** What the steps read and write. */
export interface StepResources {
  readonly secrets: AccountSecrets;
  readonly bucket: ExportBucket;
  readonly tables: ExportTables | undefined;
}

/** A write on the condition that the object has not changed needs s3:GetObject as well. */
const REPLACE = ['s3:GetObject', 's3:PutObject'] as const;

/** Lets each step's function use the secrets, the bucket and the tables as far as its calls need. */
export function grantPermissions(
  functions: Readonly<Record<StepName, IGrantable>>,
  { secrets, bucket, tables }: StepResources,
): void {
  const callPlatform = (step: IGrantable) => secrets.grantReadTokens(step);
  const storeReport = (step: IGrantable) => {
    secrets.grantReadTokens(step);
    bucket.grantUpload(step);
  };
  const storePages = (step: IGrantable) => {
    bucket.grantRead(step, `${PAGES_PREFIX}*`);
    bucket.grant(step, `${PAGES_PREFIX}*`, ['s3:PutObject']);
  };
  const [all, runs] = [`${EXPORTS_PREFIX}*`, `${EXPORTS_PREFIX}*/${RUNS}*`];
  const lists = `${EXPORTS_PREFIX}*/${ADVERTISER_LISTS}*`;
  const [manifests, failures] = [`${EXPORTS_PREFIX}*/${MANIFEST}`, `${EXPORTS_PREFIX}*/${FAILURE}`];
  const readDays = (step: IGrantable) => {
    bucket.grantRead(step, all);
    if (tables) bucket.grantRead(step, `${TABLES_PREFIX}*`);
    tables?.grantRead(step);
  };
  const permissions: Readonly<Record<StepName, (step: IGrantable) => void>> = {
    PlanExport(step) {
      readDays(step);
      bucket.grant(step, runs, ['s3:PutObject', 's3:DeleteObject']);
    },
    GetToken(step) {
      secrets.grantReplaceTokens(step);
      // A lease is created without being read, and never removed.
      bucket.grant(step, `${LEASES_PREFIX}*`, REPLACE);
    },
    ListAdvertisers(step) {
      callPlatform(step);
      bucket.grantRead(step, lists);
      // They name the lists that were delivered.
      bucket.grant(step, manifests, ['s3:GetObject']);
      bucket.grant(step, lists, ['s3:PutObject']);
      storePages(step);
    },
    CreateReport(step) {
      callPlatform(step);
      bucket.grant(step, lists, ['s3:GetObject']);
    },
    CheckReport: callPlatform,
    SaveReport: storeReport,
    QueryPurchases: storeReport,
    ExportList(step) {
      storeReport(step);
      storePages(step);
    },
    CurateReport(step) {
      bucket.grantRead(step, all);
      if (tables) bucket.grant(step, `${TABLES_PREFIX}*`, REPLACE);
      tables?.grantRead(step);
    },
    PublishWindow(step) {
      bucket.grantRead(step, manifests);
      bucket.grant(step, manifests, ['s3:PutObject']);
    },
    PublishExport(step) {
      // The platform's totals, beside the rows.
      if (tables) bucket.grantRead(step, `${TABLES_PREFIX}${LEDGER}/*`);
      bucket.grantRead(step, runs);
      bucket.grant(step, runs, ['s3:DeleteObject']);
    },
    DescribeFailure: (step) => bucket.grant(step, failures, ['s3:PutObject']),
    CheckReady: readDays,
  };
  for (const [step, grant] of Object.entries(permissions)) grant(functions[step as StepName]);
}
