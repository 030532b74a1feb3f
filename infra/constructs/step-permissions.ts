import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { AccountSecrets } from './account-secrets.ts';
import type { ExportBucket } from './export-bucket.ts';
import type { ExportTables } from './export-tables.ts';
import type { StepName } from './retries.ts';
import type { StepFunctions } from './workflow-states.ts';

interface Resources {
  readonly secrets: AccountSecrets;
  readonly bucket: ExportBucket;
  readonly tables: ExportTables | undefined;
}

/** Lets each step's function use the secrets, the bucket and the tables as far as its calls need. */
export function grantPermissions(functions: StepFunctions, { secrets, bucket, tables }: Resources): void {
  const callPlatform = (step: IGrantable) => secrets.grantReadTokens(step);
  const storeReport = (step: IGrantable) => {
    secrets.grantReadTokens(step);
    bucket.grantUpload(step);
  };
  const permissions: Readonly<Record<StepName, (step: IGrantable) => void>> = {
    PlanExport(step) {
      bucket.grantReadOutcomes(step);
      tables?.grantReadPartitions(step);
    },
    GetToken(step) {
      secrets.grantReadWriteCredentials(step);
      secrets.grantReadWriteTokens(step);
    },
    CreateReport: callPlatform,
    CheckReport: callPlatform,
    SaveReport: storeReport,
    QueryPurchases: storeReport,
    ExportList: storeReport,
    CurateReport(step) {
      bucket.grantCurate(step);
      if (tables) bucket.grantWriteTables(step);
      tables?.grantRegister(step);
    },
    PublishWindow(step) {
      bucket.grantWriteManifest(step);
      bucket.grantDeleteFailure(step);
    },
    PublishExport: (step) => bucket.grantDeleteFailure(step),
    DescribeFailure(step) {
      bucket.grantWriteFailure(step);
      bucket.grantAbortUpload(step);
    },
  };
  for (const [step, grant] of Object.entries(permissions)) grant(functions[step as StepName]);
}
