import { grantedAdvertisers } from '../authenticate.ts';
import { type Answer, type Call, jsonAnswer, readJsonBody, refusal } from '../exchange.ts';
import type { Grant, HostLimits, PlatformState } from '../platform-state.ts';
import { estimateBytes } from './create-report-file.ts';
import { type ReportRequest, readReport } from './report-request.ts';

/** Contract 4.4. */
const SECONDS_BETWEEN_GETS = 10;

/** Contract 2.3. */
export const DAY_SECONDS = 86_400;

/** From a report's creation to READY. It is PROCESSING after a fifth of them. */
export const SECONDS_TO_READY = 25;

/** Contract 4.3. */
export async function createReportEndpoint(
  state: PlatformState,
  incoming: Call,
  grant: Grant,
): Promise<Answer> {
  const { refusedAdvertisers = [] } = state.options;
  const granted = grantedAdvertisers(state, grant).filter(({ id }) => !refusedAdvertisers.includes(id));
  const request = readReport(readJsonBody(incoming), granted);
  refuseLargeReport(request, state.limits);
  const { id } = await state.reports.create({ account: grant.credential.account, request });
  return jsonAnswer(201, { id, status: 'CREATED' });
}

/** @throws Refusal 422 */
function refuseLargeReport(request: ReportRequest, limits: HostLimits | undefined): void {
  if (!limits || estimateBytes(request) <= limits.reportBytes) return;
  throw refusal(
    422,
    `The file would have more than ${limits.reportBytes} bytes, which this sandbox does not make. Ask for fewer days, advertisers, metrics or dimensions.`,
  );
}

/**
 * Contract 4.4. A report of another account is 404, like an unknown id. A GET that was refused counts as a
 * GET, so a client that polls too fast never succeeds.
 */
export async function reportEndpoint(
  { reports, now }: PlatformState,
  call: Call,
  grant: Grant,
): Promise<Answer> {
  const { reportId: id = '' } = call;
  const report = await reports.find(id);
  if (report?.account !== grant.credential.account) throw refusal(404, `There is no report ${id}.`);
  const previous = reports.previousPoll(call);
  if (previous !== undefined && now() - previous < SECONDS_BETWEEN_GETS * 1000)
    throw refusal(429, `Poll a report at most once every ${SECONDS_BETWEEN_GETS} s.`, {
      headers: { 'retry-after': String(SECONDS_BETWEEN_GETS) },
    });
  const { createdAt, readyAt } = report;
  const isCreated = now() < createdAt + (readyAt - createdAt) / 5;
  if (now() < readyAt) return jsonAnswer(200, { id, status: isCreated ? 'CREATED' : 'PROCESSING' });
  return jsonAnswer(200, { id, status: 'READY', download_url: await reports.createDownloadUrl(report) });
}

/** The end of the name of a report's file. */
export function extensionOf({ format }: ReportRequest): string {
  return format === 'CSV' ? 'csv' : 'json';
}

export function contentTypeOf({ format }: ReportRequest): string {
  return format === 'CSV' ? 'text/csv' : 'application/json';
}
