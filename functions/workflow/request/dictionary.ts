/** The known metrics and dimensions, for warnings, types, the catalog's comments and the page. */

interface Dimension {
  /** With a `*` for a form, such as `*_value`. */
  readonly name: string;
  readonly meaning: string;
}

export interface Metric extends Dimension {
  /** `count` is a whole number, `money` is in the account's currency, `number` may have decimals. */
  readonly unit: 'count' | 'money' | 'number' | 'ratio';
  /** The sum over days or campaigns means something. */
  readonly adds_up: boolean;
}

// Names that the contract shows (2.2), then names that are common elsewhere.
const METRICS: readonly Metric[] = [
  additive('spend', 'money', 'the money spent on ads'),
  additive('impressions', 'count', 'how often ads were shown'),
  additive('number_of_purchases', 'count', 'purchases attributed to ads'),
  additive('clicks', 'count', 'clicks on ads'),
  additive('installs', 'count', 'installations of an app attributed to ads'),
  additive('conversions', 'number', 'conversions attributed to ads, some only in part'),
  additive('cost', 'money', 'the money spent on ads'),
  additive('revenue', 'money', 'the income attributed to ads'),
  additive('purchase_value', 'money', 'the value of the purchases attributed to ads'),
  nonAdditive('reach', 'count', 'people who saw an ad, each counted once'),
  nonAdditive('ctr', 'ratio', 'clicks per impression'),
  nonAdditive('cpc', 'money', 'the cost of a click'),
  nonAdditive('cpm', 'money', 'the cost of a thousand impressions'),
  nonAdditive('roas', 'ratio', 'the income per money spent'),
  additive('number_of_*', 'count', 'events attributed to ads'),
  additive('*_value', 'money', 'the value of events attributed to ads'),
];

const DIMENSIONS: readonly Dimension[] = [
  { name: 'campaign_id', meaning: 'the id of the campaign' },
  { name: 'campaign_name', meaning: 'the name of the campaign' },
  { name: 'event_source_id', meaning: 'the id of the app or site that reported events' },
  { name: 'event_source_platform', meaning: 'the platform of the app or site' },
  { name: 'creative_id', meaning: 'the id of the ad that was shown' },
  { name: 'country', meaning: 'the country of those who saw the ad' },
];

export const DICTIONARY = { metrics: METRICS, dimensions: DIMENSIONS } as const;

/** @param name in any case of letters */
export function findMetric(name: string): Metric | undefined {
  const wanted = name.toLowerCase();
  return (
    METRICS.find((metric) => metric.name === wanted) ??
    METRICS.find(({ name: form }) => {
      const [start = '', end] = form.split('*');
      return end !== undefined && wanted.startsWith(start) && wanted.endsWith(end);
    })
  );
}

/** @param name in any case of letters */
export function findDimension(name: string): Dimension | undefined {
  return DIMENSIONS.find((dimension) => dimension.name === name.toLowerCase());
}

function additive(name: string, unit: Metric['unit'], meaning: string): Metric {
  return { name, meaning, unit, adds_up: true };
}

function nonAdditive(name: string, unit: Metric['unit'], meaning: string): Metric {
  return { name, meaning, unit, adds_up: false };
}
