import { hash } from 'node:crypto';
import { isObject, type JsonObject } from '../workflow/json.ts';
import { ALL } from '../workflow/request/report.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { Settings } from '../workflow/settings.ts';

export interface RequestTarget {
  /** From `platformName`, or the name of a platform whose address only its deployment tells. */
  readonly platform: string;
  /** The revision of a request that names none. */
  readonly revision: string;
}

type TargetSettings = Pick<Settings, 'PLATFORM_BASE_URL' | 'PLATFORM_NAME' | 'PLATFORM_REVISION'>;

export function targetOf(settings: TargetSettings): RequestTarget {
  const { PLATFORM_BASE_URL, PLATFORM_NAME: platform = platformName(PLATFORM_BASE_URL) } = settings;
  return { platform, revision: settings.PLATFORM_REVISION };
}

/** The platform's host and path. Leaves out the port: each local sandbox has another. */
export function platformName(baseUrl: string): string {
  const { hostname, pathname } = new URL(baseUrl);
  return `${hostname}${pathname}`.replace(/\/+$/, '');
}

/**
 * The SHA-256 of everything that decides what a row of the request is and says, in hexadecimal. Two requests
 * with the same hash may write to the same table, and deliver the same day. Dates, time zone, format and
 * parallelism leave the rows as they are.
 */
export function requestHash(request: ExportRequest, target: RequestTarget): string {
  return hash('sha256', JSON.stringify(withSortedKeys(identityOf(request, target))));
}

/**
 * Everything in which a request is another one than the configured request of its name, such as
 * `metrics (more: clicks)`. If there is nothing, they have the same hash.
 */
export function differencesOf(
  request: ExportRequest,
  configured: ExportRequest,
  target: RequestTarget,
): string[] {
  const one = identityOf(request, target);
  const other = identityOf(configured, target);
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((field) => {
    const [asked, wanted] = [one[field], other[field]];
    if (JSON.stringify(withSortedKeys(asked)) === JSON.stringify(withSortedKeys(wanted))) return [];
    if (!Array.isArray(asked) || !Array.isArray(wanted)) return [field];
    const more = asked.filter((each) => !wanted.includes(each));
    const fewer = wanted.filter((each) => !asked.includes(each));
    const words = [
      ...(more.length > 0 ? [`more: ${more.join(', ')}`] : []),
      ...(fewer.length > 0 ? [`fewer: ${fewer.join(', ')}`] : []),
    ];
    return [words.length > 0 ? `${field} (${words.join('; ')})` : field];
  });
}

function identityOf(request: ExportRequest, { platform, revision }: RequestTarget): JsonObject {
  return { platform, revision: request.revision ?? revision, ...identityOfKind(request) };
}

function identityOfKind(request: ExportRequest) {
  if (request.kind === 'list') {
    const { kind, resource, filters, items } = request;
    return { kind, resource, filters, items };
  }
  if (request.kind === 'purchases') {
    const { kind, advertiser_id, options } = request;
    return { kind, advertiser_id: advertiser_id.toLowerCase(), options };
  }
  const { advertiser_ids: ids } = request;
  return {
    kind: request.kind,
    // Another advertiser of the platform's list is no other request.
    advertiser_ids: ids === ALL ? ALL : ids.map((id) => id.toLowerCase()).toSorted(),
    metrics: request.metrics.toSorted(),
    dimensions: (request.dimensions ?? []).toSorted(),
    granularity: request.granularity.toUpperCase(),
    options: request.options,
    // Absent in JSON unless it is set, so a request without it keeps its hash.
    rows: request.rows,
  };
}

/** The order of a list in `options` may matter to the platform, so it stays. */
function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, withSortedKeys(value[key])]));
}
