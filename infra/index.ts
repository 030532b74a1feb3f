// The package `ad-report-export`, as an app imports it.

export type { Manifest } from '../functions/days/manifest.ts';
/** The detail of the events Report Late and Report Ready. */
export type { Readiness } from '../functions/workflow/ready.ts';
/** The detail of the event Report Export Failed, and a `_failure.json`. */
export type { FailureReport } from '../functions/workflow/state-parts.ts';
/** The detail of the event Report Exported. */
export type { ExportResult } from '../functions/workflow/states.ts';
export { type ConfigInput, InvalidConfig } from './stack/config/config.ts';
export { AdReportExport } from './stack/constructs/ad-report-export.ts';
export type { AdReportExportProps } from './stack/constructs/export-props.ts';
export { exitOnInvalidConfig } from './stack/exit-on-invalid-config.ts';
export { addSandboxStacks, asksForSandbox } from './stack/sandbox/sandbox-stacks.ts';
