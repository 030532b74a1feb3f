import { CURATE_MEMORY_MB } from '../../../functions/tables/memory.ts';

/**
 * MB of each step's function, which `memory_mb` of the config may raise. Lambda gives CPU in proportion to
 * memory: 1,769 MB are one whole CPU.
 */
export const MEMORY_MB = {
  // With `only_missing`, it parses up to thousands of manifests: 730 take 20 s on the seventh of a CPU that
  // 256 MB have.
  PlanExport: 1024,
  GetToken: 256,
  // Holds a page of 5,000 advertisers as text and as objects.
  ListAdvertisers: 512,
  CreateReport: 256,
  CheckReport: 256,
  SaveReport: 256,
  // DuckDB and its buffers need up to 512 MB, and a whole CPU.
  CurateReport: CURATE_MEMORY_MB,
  // Holds an answer of 64 MiB as bytes and as text.
  QueryPurchases: 512,
  // Holds a page of 5,000 items as text and as objects, and 200 bytes per item of the list: 3 million items
  // take 600 MB.
  ExportList: 1024,
  PublishWindow: 256,
  PublishExport: 256,
  DescribeFailure: 256,
  CheckReady: 512,
} as const;

/** The steps. Each is a Lambda function, and lives in the file of its name in functions/. */
export type StepName = keyof typeof MEMORY_MB;

/** The largest function that Lambda has. */
export const MAX_MEMORY_MB = 10_240;
