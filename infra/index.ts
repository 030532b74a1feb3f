// The package `ad-report-export`, as an app imports it.
export type { ConfigInput } from './config/config.ts';
export { AdReportExport, type AdReportExportProps } from './constructs/ad-report-export.ts';
