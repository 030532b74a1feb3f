import { randomBytes, randomUUID } from 'node:crypto';
import { daysOf } from '../../../../functions/workflow/request/dates.ts';
import { grantedAdvertisers } from '../authenticate.ts';
import { type Answer, type Call, json, readJsonBody, refusal } from '../exchange.ts';
import type { Grant, SandboxState } from '../state.ts';
import { createReportFile } from './report-file.ts';
import { readPurchaseQuery, readReport } from './report-request.ts';

/** Contract 4.4. */
const SECONDS_BETWEEN_GETS = 10;

const DAY_SECONDS = 86_400;

/** Contract 4.3. */
export function createReport(state: SandboxState, incoming: Call, grant: Grant): Answer {
  const { refusedAdvertisers = [], report = {} } = state.options;
  const granted = grantedAdvertisers(state, grant).filter(({ id }) => !refusedAdvertisers.includes(id));
  const request = readReport(readJsonBody(incoming), granted);
  const { secondsToReady = 25 } = report;
  const id = randomUUID();
  const ordinal = state.reports.size + 1;
  const createdAt = state.now();
  const untilReady = typeof secondsToReady === 'number' ? secondsToReady : secondsToReady(ordinal);
  state.reports.set(id, {
    id,
    ordinal,
    account: grant.credential.account,
    request,
    createdAt,
    readyAt: createdAt + 1000 * untilReady,
    file: createReportFile(request, createdAt, report),
    version: 0,
  });
  return json(201, { id, status: 'CREATED' });
}

/**
 * Contract 4.4. A report of another account is 404, like an unknown id. A GET that was refused counts as a
 * GET, so a client that polls too fast never succeeds.
 */
export function getReport(state: SandboxState, call: Call, grant: Grant): Answer {
  const { endpoint, reportId: id = '' } = call;
  const report = state.reports.get(id);
  if (report?.account !== grant.credential.account) throw refusal(404, `There is no report ${id}.`);
  const now = state.now();
  const before = state.journal.slice(0, state.journal.lastIndexOf(call));
  const previous = before.findLast((other) => other.endpoint === endpoint && other.reportId === id);
  if (previous && now - previous.at < SECONDS_BETWEEN_GETS * 1000)
    throw refusal(429, `Poll a report at most once every ${SECONDS_BETWEEN_GETS} s.`, {
      headers: { 'retry-after': String(SECONDS_BETWEEN_GETS) },
    });
  const { createdAt, readyAt, request } = report;
  const isCreated = now < createdAt + (readyAt - createdAt) / 5;
  if (now < readyAt) return json(200, { id, status: isCreated ? 'CREATED' : 'PROCESSING' });
  // A new download_url each time (contract 2.3).
  const signature = `sbx_sig_${randomBytes(24).toString('base64url')}`;
  const path = `/reports/${id}.${request.format === 'CSV' ? 'csv' : 'json'}?signature=${signature}`;
  state.downloadUrls.set(path, now + 1000 * (state.options.report?.urlSeconds ?? DAY_SECONDS));
  return json(200, { id, status: 'READY', download_url: state.storageUrl + path });
}

/**
 * Contract 4.5, which does not show the response: its shape is invented. The same request always gets the
 * same events.
 */
export function queryPurchases(state: SandboxState, request: Call, grant: Grant): Answer {
  const query = readPurchaseQuery(readJsonBody(request), grantedAdvertisers(state, grant));
  const { advertiser_id, ...range } = query;
  const purchases = daysOf(range).map((day) => ({
    event_id: `${advertiser_id}-${day}`,
    advertiser_id,
    event_time: `${day}T08:30:00Z`,
    value: 12.5,
    currency: 'USD',
  }));
  return json(200, { purchases });
}
