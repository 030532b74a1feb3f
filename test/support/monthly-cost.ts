import { MEMORY, PRICES } from '../../infra/stack/config/cost.ts';
import type { Synthesized } from '../../infra/stack/synthesize.ts';

/** Dollars that a stack costs in a month if nothing runs: its alarms, secrets and keys. */
export function monthlyCost({ template }: Pick<Synthesized, 'template'>): {
  readonly alarms: number;
  readonly total: number;
} {
  const all = Object.values<Synthesized['template']>(template.Resources);
  const ofType = (type: string) => all.filter(({ Type }) => Type === type);
  const alarms = ofType('AWS::CloudWatch::Alarm');
  // An alarm on an expression watches each of its metrics.
  const watched = alarms.map(({ Properties }) => Properties.Metrics?.length - 1 || 1);
  const ofAlarms = PRICES.watchedMetric * watched.reduce((sum, metrics) => sum + metrics, 0);
  const ofSecrets = PRICES.secret * ofType('AWS::SecretsManager::Secret').length;
  const ofKeys = PRICES.key * ofType('AWS::KMS::Key').length;
  return { alarms: alarms.length, total: ofAlarms + ofSecrets + ofKeys };
}

/** The state transitions and the cost of the execution that starts one for each account. */
export function costOfAccounts(accounts: number) {
  // TakeRequest, PlanExport, IsAnyMissing, ExportAccounts, AreAllExported, Exported;
  // ExportAccount and AccountDelivered
  const transitions = 6 + 2 * accounts;
  const lambda = PRICES.call + (MEMORY.PlanExport / 1024) * PRICES.gigabyteSecond;
  return { transitions, dollars: transitions * PRICES.transition + lambda };
}
