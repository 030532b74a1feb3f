import { fieldsOf, type JsonObject } from '../../../functions/workflow/json.ts';

// The config of version 0.2.0, in which `accounts` is a list. A later release deletes this file.

/** Says that a config has the old form, with the same in the new form. @returns undefined if it has not */
export function describeOldForm(context: unknown): string | undefined {
  const { accounts: names, exports = [], time_zones, currency, ...others } = fieldsOf(context);
  if (!Array.isArray(names) || !Array.isArray(exports)) return undefined;
  const { reserve_token_concurrency, slack, ...settings } = others;
  const entries = exports.map(fieldsOf);
  const accounts = Object.fromEntries(
    names.map((name: string) => [
      name,
      {
        time_zone: fieldsOf(time_zones)[name],
        currency: fieldsOf(currency)[name],
        ...factsIn(entries.filter(({ account }) => account === name)),
      },
    ]),
  );
  const converted = entries.map((entry) => convertExport(entry, fieldsOf(accounts[String(entry.account)])));
  const alike = Map.groupBy(converted, ({ account, ...what }) => JSON.stringify(what));
  const merged = [...alike.values()].map((same) => {
    const { account: _, name, ...what } = same[0] as JsonObject;
    const own = same.map(({ account }) => account);
    return { name, accounts: own.length === names.length ? undefined : own, ...what };
  });
  const text = JSON.stringify({ ...settings, accounts, exports: merged }, undefined, 2);
  return `it has the form of version 0.2.0. In the new form, it is:\n${text}`;
}

/** The advertisers of an account's first report, and the time zone that all its schedules name. */
function factsIn(exports: readonly JsonObject[]): JsonObject {
  const { advertiser_ids } = exports.find((entry) => entry.advertiser_ids !== undefined) ?? {};
  const zones = new Set(exports.map(({ schedule }) => fieldsOf(schedule).time_zone));
  const [time_zone, ...others] = zones;
  return { ...(time_zone !== undefined && others.length === 0 && { time_zone }), advertiser_ids };
}

function convertExport(
  { table, period, schedule, advertiser_ids, ...request }: JsonObject,
  facts: JsonObject,
): JsonObject {
  const { expression, enabled, time_zone } = fieldsOf(schedule);
  const run = {
    period,
    schedule: enabled === false ? { expression, enabled } : expression,
    time_zone: time_zone === facts.time_zone ? undefined : time_zone,
  };
  const isUsual = JSON.stringify(advertiser_ids) === JSON.stringify(facts.advertiser_ids);
  return {
    ...request,
    advertiser_ids: isUsual ? undefined : advertiser_ids,
    table: table === false ? false : undefined,
    runs: period === undefined && schedule === undefined ? undefined : [run],
  };
}
