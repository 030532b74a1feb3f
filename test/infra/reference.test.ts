import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errors } from '../../functions/workflow/errors.ts';
import { METRICS, NAMESPACE } from '../../functions/workflow/measure.ts';
import { ListInput } from '../../functions/workflow/request/list.ts';
import { PurchasesInput } from '../../functions/workflow/request/purchases.ts';
import { ReportInput } from '../../functions/workflow/request/report.ts';
import { Settings } from '../../functions/workflow/settings.ts';
import { COMMANDS, loadAll } from '../../infra/cli/commands.ts';
import { ConfigFile, Schedule } from '../../infra/config.ts';
import { CONTEXT, resourcesOf, synthesizeStack } from '../support/stack.ts';

const [reference, readme] = ['functions/README.md', 'README.md'].map((file) =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'),
) as [string, string];

/** The rows of a section's tables, without their headings. @param heading of the first column, if the section has several tables */
function rowsOf(document: string, section: string, heading?: string): string[][] {
  const [, text = ''] = document.split(`\n## ${section}\n`);
  const [own = ''] = text.split(/\n## /);
  const tables = own
    .split(/\n(?!\|)/)
    .map((block) => block.split('\n').filter((line) => line.startsWith('|')));
  return tables.flatMap(([head = '', , ...rows]) =>
    heading === undefined || head.startsWith(`| ${heading} |`) ? rows.map(cellsOf) : [],
  );
}

function cellsOf(row: string): string[] {
  return row.split('|').slice(1, -1);
}

/** The words in code, such as `name`, without the value that an option takes. */
function wordsIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^` ]+)[^`]*`/g)].map(([, word = '']) => word);
}

function firstWords(rows: readonly (readonly string[])[]): string[] {
  return rows.flatMap(([first]) => wordsIn(first));
}

const sorted = (words: Iterable<string>) => [...new Set(words)].sort();

describe('the reference has an entry, and none too many, for', () => {
  it('each field of a request', () => {
    const fields = [ReportInput, PurchasesInput, ListInput].flatMap(({ shape }) => Object.keys(shape));
    expect(sorted(firstWords(rowsOf(reference, 'The request')))).toEqual(sorted(fields));
  });

  it('each setting of the config, of its exports and of their schedules', () => {
    const { exports, ...others } = ConfigFile.shape;
    const ofExports = Object.keys(exports.unwrap().element.shape).map((name) => `exports[].${name}`);
    const rows = rowsOf(reference, 'The config', 'setting');
    expect(sorted(firstWords(rows))).toEqual(sorted([...Object.keys(others), 'exports', ...ofExports]));
    const [, schedule = ''] = rows.find(([first]) => wordsIn(first).includes('exports[].schedule')) ?? [];
    expect(Object.keys(Schedule.shape).filter((name) => !schedule.includes(`"${name}"`))).toEqual([]);
  });

  it('each setting of a function', () => {
    const rows = rowsOf(reference, 'The config', 'environment variable');
    expect(sorted(firstWords(rows))).toEqual(sorted(Object.keys(Settings.shape)));
  });

  it('each error', () => {
    expect(sorted(firstWords(rowsOf(reference, 'Errors')))).toEqual(sorted(Object.keys(errors)));
  });

  it('each metric, with its unit and the alarms that watch it', () => {
    const rows = rowsOf(reference, 'Metrics');
    const units = rows.map(([name, unit = '']) => [wordsIn(name)[0], unit.trim()]);
    expect(Object.fromEntries(units)).toEqual(METRICS);
    const alarms = rows.map(([name, , , , named]) => [wordsIn(name)[0], sorted(wordsIn(named))]);
    const watched = watchedMetrics();
    const expected = Object.keys(METRICS).map((name) => [name, sorted(watched.get(name) ?? [])]);
    expect(Object.fromEntries(alarms)).toEqual(Object.fromEntries(expected));
  });

  it('each option of a command, with the commands that have it', async () => {
    const rows = rowsOf(reference, 'The commands', 'option');
    const documented = rows.flatMap(([options, commands]) =>
      wordsIn(options).map((option) => [option, sorted(wordsIn(commands))] as const),
    );
    const all = (await loadAll()).flatMap((command) =>
      command.options.map(({ long }) => ({ option: `${long}`, command: command.name() })),
    );
    const expected = Map.groupBy(all, ({ option }) => option);
    expect(Object.fromEntries(documented)).toEqual(
      Object.fromEntries(
        [...expected].map(([option, uses]) => [option, sorted(uses.map(({ command }) => command))]),
      ),
    );
  });

  it('the document that each command prints with --json', async () => {
    const documented = rowsOf(reference, 'The commands', 'command');
    const printing = (await loadAll()).filter(({ options }) => options.some(({ long }) => long === '--json'));
    expect(sorted(firstWords(documented))).toEqual(sorted(printing.map((command) => command.name())));
  });
});

interface AlarmedMetric {
  readonly Namespace?: string;
  readonly MetricName?: string;
}

/** The alarms of the template by the metric of ours that they watch. */
function watchedMetrics(): Map<string, string[]> {
  // With a period of three days or more, an alarm watches EmptyDeliveries too.
  const exports = CONTEXT.exports.map((entry) => ({
    ...entry,
    ...('period' in entry && { period: 'last_7_days' }),
  }));
  const watched = new Map<string, string[]>();
  for (const { Properties } of resourcesOf(synthesizeStack({ exports }), 'AWS::CloudWatch::Alarm').values()) {
    const alarm = Properties.AlarmName.replace(/^exports-test-/, '').replace(/-.*/, '');
    const stats: readonly { MetricStat?: { Metric: AlarmedMetric } }[] = Properties.Metrics ?? [];
    const parts: AlarmedMetric[] = [Properties, ...stats.map(({ MetricStat }) => MetricStat?.Metric ?? {})];
    for (const { Namespace, MetricName = '' } of parts)
      if (Namespace === NAMESPACE) watched.set(MetricName, [...(watched.get(MetricName) ?? []), alarm]);
  }
  return watched;
}

it('the README names each command', () => {
  const named = [...readme.matchAll(/npm run export -- ([a-z]+)|`([a-z]+) bash\|/g)].map(
    ([, a, b]) => a ?? b ?? '',
  );
  expect(sorted(named)).toEqual(sorted(Object.keys(COMMANDS)));
});
