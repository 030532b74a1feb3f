import { FIRST_POLL_WAIT, pollWait } from '../../../functions/decisions/waits.ts';
import { MEMORY_MB, type StepName } from './memory.ts';

/** List prices in dollars, us-east-1, without the free tier. */
export const PRICES = {
  as_of: 'November 2026',
  /** Step Functions, Standard: $25 per million. */
  transition: 25e-6,
  /** Lambda on arm64. */
  gigabyteSecond: 13.3334e-6,
  call: 0.2e-6,
  /** A month of each. CloudWatch bills an alarm by its metrics, and a metric by the hours with data. */
  watchedMetric: 0.1,
  secret: 0.4,
  /** S3, a GB and month. */
  storedGigabyte: 0.023,
  key: 1,
} as const;

/** Assumed of each report, from its creation to its manifest. An account with one window takes as long. */
export const SECONDS_PER_REPORT = 180;

/** The states that an export enters besides the states of its windows. */
const EXPORT_STATES = {
  steps: ['PlanExport', 'GetToken', 'PublishExport'],
  // TakeRequest, IsAnyMissing, IsForAll, ExportWindows, AnnounceExport, Exported
  withoutFunction: 6,
} as const;

/** The states of one window. A way to a GET of the report passes WaitForReport and WhatNext. */
const WINDOW_STATES = {
  report: {
    steps: ['GetToken', 'CreateReport', 'SaveReport', 'CurateReport', 'PublishWindow'],
    // WhatNext at the start, WaitForReport and WhatNext before SaveReport, IsSaved, IsCurated
    withoutFunction: 5,
  },
  // WhatNext, IsSaved, IsCurated
  purchases: { steps: ['GetToken', 'QueryPurchases', 'PublishWindow'], withoutFunction: 3 },
  list: { steps: ['GetToken', 'ExportList', 'CurateReport', 'PublishWindow'], withoutFunction: 3 },
} as const satisfies Record<string, { steps: readonly StepName[]; withoutFunction: number }>;

/**
 * The state transitions of an export in which everything succeeds at the first try, and what it costs.
 *
 * @param readyAfter seconds from the creation of a report until it is ready
 * @param raised `memory_mb` of the config
 */
export function costOf(
  kind: keyof typeof WINDOW_STATES,
  windows: number,
  readyAfter: number,
  raised: Readonly<Partial<Record<StepName, number>>> = {},
) {
  const polls = kind === 'report' ? windows * countPolls(readyAfter) : 0;
  const window = WINDOW_STATES[kind];
  const steps: readonly StepName[] = [
    ...EXPORT_STATES.steps,
    ...Array.from({ length: windows }, () => window.steps).flat(),
    ...Array.from({ length: polls }, () => 'CheckReport' as const),
  ];
  const transitions =
    steps.length + EXPORT_STATES.withoutFunction + windows * window.withoutFunction + 2 * polls;
  // A second for each call. Most take less.
  const gigabyteSeconds = steps.reduce((sum, step) => sum + (raised[step] ?? MEMORY_MB[step]) / 1024, 0);
  const lambda = steps.length * PRICES.call + gigabyteSeconds * PRICES.gigabyteSecond;
  return { transitions, dollars: transitions * PRICES.transition + lambda };
}

function countPolls(readyAfter: number): number {
  const created = new Date();
  const after = (seconds: number) => new Date(created.getTime() + seconds * 1000);
  let polls = 1;
  for (let waited = FIRST_POLL_WAIT; waited < readyAfter; polls += 1)
    waited += pollWait(created.toISOString(), after(waited));
  return polls;
}
