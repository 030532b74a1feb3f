import { addDays } from '../../functions/workflow/request/dates.ts';
import { EXAMPLE_ADVERTISERS } from '../local/sandbox/settings.ts';

/** What `npm start` exports: the last week of the sandbox's advertisers, by campaign. */
export function exampleRequest(today: string): unknown {
  return {
    name: 'example',
    account: 'sandbox',
    kind: 'report',
    start_date: addDays(today, -7),
    end_date: today,
    advertiser_ids: EXAMPLE_ADVERTISERS,
    metrics: ['spend', 'impressions', 'number_of_purchases'],
    dimensions: ['campaign_id', 'campaign_name'],
  };
}
