import { Annotations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { apiKeyWarning } from '../functions/token/api-key.ts';
import type { Config, Schedule } from './config.ts';

const HOURS = { minute: 1 / 60, hour: 1, day: 24 } as const;

/** Adds the synth's warnings. A synth sees no credential, so the config says which accounts use an API key. */
export function addWarnings(
  stack: Construct,
  { legacy_api_key_accounts = [], exports }: Pick<Config, 'legacy_api_key_accounts' | 'exports'>,
  now: Date,
): void {
  const warn = (id: string, text: string) =>
    Annotations.of(stack).addWarningV2(`ad-report-export:${id}`, text);
  for (const account of legacy_api_key_accounts) warn(`apiKey:${account}`, apiKeyWarning(account, now));
  for (const { account, name, schedule } of exports) {
    if (schedule && startsLessOften(schedule))
      warn(
        `schedule:${account}.${name}`,
        `export ${name} of account ${account} is expected every ${schedule.expect_every_hours} hours, but its schedule ` +
          `${schedule.expression} starts less often. Set expect_every_hours to the longest time between two starts, or the alarm ` +
          'NothingDelivered goes off between two starts.',
      );
  }
}

/** Looks at the form only: a cron expression that names days or months does not start every day. */
function startsLessOften({ expression, expect_every_hours }: Schedule): boolean {
  const [, count, unit] = /^rate\((\d+) (minute|hour|day)/.exec(expression) ?? [];
  if (unit) return Number(count) * HOURS[unit as keyof typeof HOURS] > expect_every_hours;
  return expect_every_hours <= 24 && !/^cron\(\S+ \S+ [*?] \* [*?] \S+\)$/.test(expression);
}
