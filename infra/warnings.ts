import { Annotations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { apiKeyWarning } from '../functions/token/api-key.ts';
import { metricType } from '../functions/workflow/table.ts';
import type { Config, ConfiguredExport, Schedule } from './config.ts';
import { tableSource } from './tables.ts';

const HOURS = { minute: 1 / 60, hour: 1, day: 24 } as const;

/** Adds the synth's warnings. A synth sees no credential, so the config says which accounts use an API key. */
export function addWarnings(
  stack: Construct,
  {
    legacy_api_key_accounts = [],
    exports,
    tables,
  }: Pick<Config, 'legacy_api_key_accounts' | 'exports' | 'tables'>,
  now: Date,
): void {
  const warn = (id: string, text: string) =>
    Annotations.of(stack).addWarningV2(`ad-report-export:${id}`, text);
  for (const account of legacy_api_key_accounts) warn(`apiKey:${account}`, apiKeyWarning(account, now));
  for (const each of exports) {
    const { account, name, schedule } = each;
    const guessed = tables ? guessedMetrics(each) : [];
    if (guessed.length > 0)
      warn(
        `type:${account}.${name}`,
        `export ${name} of account ${account} stores ${guessed.join(', ')} as double, which rounds, because the names tell no ` +
          'type. Set each type in columns now: it can only be changed with a new table.',
      );
    if (schedule && startsLessOften(schedule))
      warn(
        `schedule:${account}.${name}`,
        `export ${name} of account ${account} is expected every ${schedule.expect_every_hours} hours, but its schedule ` +
          `${schedule.expression} starts less often. Set expect_every_hours to the longest time between two starts, or the alarm ` +
          'NoFreshData goes off between two starts.',
      );
  }
}

/** Metrics of an export's table whose type follows neither from the config nor from their name. */
function guessedMetrics(entry: ConfiguredExport): string[] {
  const { request } = tableSource(entry) ?? {};
  if (request?.kind !== 'report') return [];
  const declared = Object.keys(entry.columns ?? {}).map((name) => name.toLowerCase());
  return request.metrics.filter(
    (name) => metricType(name) === undefined && !declared.includes(name.toLowerCase()),
  );
}

/** Looks at the form only: a cron expression that names days or months does not start every day. */
function startsLessOften({ expression, expect_every_hours }: Schedule): boolean {
  const [, count, unit] = /^rate\((\d+) (minute|hour|day)/.exec(expression) ?? [];
  if (unit) return Number(count) * HOURS[unit as keyof typeof HOURS] > expect_every_hours;
  return expect_every_hours <= 24 && !/^cron\(\S+ \S+ [*?] \* [*?] \S+\)$/.test(expression);
}
