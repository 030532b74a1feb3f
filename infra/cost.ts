/** What AWS bills for an execution. */
export interface Usage {
  /** Of a Standard workflow; every entered state is one. */
  readonly transitions: number;
  /** Calls of functions. */
  readonly calls: number;
  readonly gigabyteSeconds: number;
}

/** List prices in dollars, us-east-1, without the free tier. The dates of AWS's price pages: November 2026. */
export const PRICES = {
  /** Step Functions, Standard: $25 per million. */
  transition: 25e-6,
  /** Lambda on arm64. */
  gigabyteSecond: 13.3334e-6,
  call: 0.2e-6,
  /** Fargate on arm64, per second. It bills a minute at least. */
  vcpuSecond: 0.03238 / 3600,
  fargateGigabyteSecond: 0.00356 / 3600,
} as const;

export function dollarsOf({ transitions, calls, gigabyteSeconds }: Usage): number {
  return transitions * PRICES.transition + calls * PRICES.call + gigabyteSeconds * PRICES.gigabyteSecond;
}

/**
 * Seconds that one call of a function is billed for, by what the call does. Assumed, not measured on AWS: one request to
 * the platform takes 0.3 s, a file of some MB is copied and curated in about a second, and every call to AWS takes 0.05 s.
 */
export const SECONDS_OF_CALL = {
  PlanExport: 0.1,
  GetToken: 0.2,
  CreateReport: 0.4,
  CheckReport: 0.4,
  SaveReport: 1.2,
  CurateReport: 1,
  QueryPurchases: 1.2,
  ExportList: 2,
  PublishWindow: 0.15,
  PublishExport: 0.1,
  DescribeFailure: 0.15,
} as const;
