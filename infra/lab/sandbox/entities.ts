import { createHash } from 'node:crypto';

/**
 * The first 24 characters of the UUIDs of an advertiser's campaigns, creatives or others. Twelve digits
 * follow: the number of the entity. The lists and all reports use the same ids, so they can be joined.
 */
export function idPrefix(kind: string, advertiser: string): string {
  const hex = createHash('sha256').update(`${kind} ${advertiser}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-8${hex.slice(15, 18)}-`;
}

export function campaignName(number: number): string {
  return `${CAMPAIGN_TITLES[number % CAMPAIGN_TITLES.length]} ${String(number).padStart(8, '0')}`;
}

/** 14 bytes each in UTF-8, with the quotes escaped. Some break readers that count characters or brackets. */
const CAMPAIGN_TITLES: readonly string[] = [
  'Spring Sale EU',
  'Winter Sale US',
  'Été à Paris',
  'Back to School',
  'Größe zählt',
  '春の新作 A',
  'Brand ["A"]!',
  'Retargeting 7d',
];
