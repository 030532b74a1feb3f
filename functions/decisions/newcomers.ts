import { count } from '../workflow/count.ts';
import type { DateRange } from '../workflow/request/dates.ts';
import type { Newcomers } from '../workflow/state-parts.ts';

/** Such as `2 new advertisers: ID, ID`. */
export function nameNewcomers({ count: many, advertiser_ids }: Newcomers): string {
  const more = many > advertiser_ids.length ? ` and ${many - advertiser_ids.length} more` : '';
  return `${count(many, 'new advertiser')}: ${advertiser_ids.join(', ')}${more}`;
}

/** The command that exports a configured export. @param range default: the days of its first run */
export function runCommand(name: string, account: string, range?: DateRange): string {
  const days = range ? ` --from ${range.start_date} --to ${range.end_date}` : '';
  return `npx ad-report-export run ${name} --account ${account}${days}`;
}
