import { findMetric } from '../../../functions/workflow/request/dictionary.ts';

const CENTS = 2;

/** The decimals of other metrics. More are the noise of a sum of doubles. */
const MAX_SHOWN_DECIMALS = 6;

/** A sum of a metric, as a person reads it: money with two decimals, and a whole number without any. */
export function describeAmount(metric: string, value: number): string {
  if (findMetric(metric)?.unit !== 'money') return String(Number(value.toFixed(MAX_SHOWN_DECIMALS)));
  const isTiny = value !== 0 && Number(value.toFixed(CENTS)) === 0;
  return isTiny ? 'less than 0.01' : value.toFixed(CENTS);
}
