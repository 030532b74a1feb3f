/** The known metrics and dimensions, for warnings, types, the catalog's comments and `fields`. */

export interface Metric {
  /** With a `*` for a form, such as `*_value`. */
  readonly name: string;
  readonly meaning: string;
  /** `count` is a whole number, `money` is in the account's currency, `number` may have decimals. */
  readonly unit: 'count' | 'money' | 'number' | 'ratio';
  /** The sum over days or campaigns means something. */
  readonly adds_up: boolean;
  readonly source: Source;
}

export interface Dimension {
  readonly name: string;
  readonly meaning: string;
  readonly source: Source;
}

/** Where the name is from: the contract, or the custom of advertising platforms. */
type Source = 'contract 2.2' | 'common';

const METRICS: readonly Metric[] = [
  additive('spend', 'money', 'the money spent on ads', 'contract 2.2'),
  additive('impressions', 'count', 'how often ads were shown', 'contract 2.2'),
  additive('number_of_purchases', 'count', 'purchases attributed to ads', 'contract 2.2'),
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
  { name: 'campaign_id', meaning: 'the id of the campaign', source: 'contract 2.2' },
  { name: 'campaign_name', meaning: 'the name of the campaign', source: 'contract 2.2' },
  {
    name: 'event_source_id',
    meaning: 'the id of the app or site that reported events',
    source: 'contract 2.2',
  },
  { name: 'event_source_platform', meaning: 'the platform of the app or site', source: 'contract 2.2' },
  { name: 'creative_id', meaning: 'the id of the ad that was shown', source: 'common' },
  { name: 'country', meaning: 'the country of those who saw the ad', source: 'common' },
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

function additive(name: string, unit: Metric['unit'], meaning: string, source: Source = 'common'): Metric {
  return { name, meaning, unit, adds_up: true, source };
}

function nonAdditive(name: string, unit: Metric['unit'], meaning: string): Metric {
  return { name, meaning, unit, adds_up: false, source: 'common' };
}
