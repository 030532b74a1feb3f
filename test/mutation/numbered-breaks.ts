import { ANSWER_BREAKS } from './numbered-breaks/answers.ts';
import { AUTHORIZATION_BREAKS } from './numbered-breaks/authorization.ts';
import type { Break } from './numbered-breaks/break.ts';
import { CONFIGURATION_BREAKS } from './numbered-breaks/configuration.ts';
import { DOWNLOAD_BREAKS } from './numbered-breaks/download.ts';
import { REPORT_BREAKS } from './numbered-breaks/reports.ts';
import { REQUEST_BREAKS } from './numbered-breaks/request.ts';
import { S3_BREAKS } from './numbered-breaks/s3.ts';
import { WAITING_BREAKS } from './numbered-breaks/waiting.ts';
import { WORKFLOW_BREAKS } from './numbered-breaks/workflow.ts';

export type { Break };

/** In the order of their numbers. */
export const BREAKS: readonly Break[] = [
  ...AUTHORIZATION_BREAKS,
  ...ANSWER_BREAKS,
  ...WAITING_BREAKS,
  ...REPORT_BREAKS,
  ...DOWNLOAD_BREAKS,
  ...S3_BREAKS,
  ...WORKFLOW_BREAKS,
  ...CONFIGURATION_BREAKS,
  ...REQUEST_BREAKS,
].sort((one, other) => one.number - other.number);

/** @throws where the text to be replaced does not occur exactly once: the break is of code that has changed */
export function brokenBy({ file, find, replace }: Break, text: string): string {
  const [before, after, ...others] = text.split(find);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${file} holds ${JSON.stringify(find)} ${text.split(find).length - 1} times`);
  return before + replace + after;
}
