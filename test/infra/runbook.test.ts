import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  AWS_ERRORS,
  createFailureReport,
  OTHER_ERROR,
  reportedName,
} from '../../functions/decisions/failure-report.ts';
import { errors } from '../../functions/workflow/errors.ts';
import { CONFIG_KEY, OUTPUTS } from '../../infra/stack/config/config.ts';
import { readContext } from '../../infra/stack/config/read-config.ts';
import { retries } from '../../infra/stack/constructs/retries.ts';
import { anchorsIn } from '../support/anchors.ts';
import { resourcesOf, synthesizeStack } from '../support/stack.ts';

const runbook = readFileSync(new URL('../../infra/RUNBOOK.md', import.meta.url), 'utf8');

/** The headings of a chapter's sections. */
function sectionsOf(chapter: string): string[] {
  const [, text = ''] = runbook.split(`\n## ${chapter}\n`);
  const [content = ''] = text.split(/\n## /);
  return [...content.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);
}

/** The anchors of the headings, and of the rows of a table. */
const anchors = [
  ...anchorsIn(runbook),
  ...[...runbook.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id),
];

describe('the runbook has a section for', () => {
  it('each of our errors', () => {
    expect(sectionsOf('Errors').sort()).toEqual(Object.keys(errors).sort());
  });

  it('each of our errors and each alarm, which says the same four things', () => {
    const sections = [...runbook.matchAll(/^### (.+)\n([^#]*(?:#(?!#)[^#]*)*)/gm)];
    const structure = sections.map(([, heading = '', text = '']) => {
      return [heading, [...text.matchAll(/^- \*\*(\w+)\.\*\*/gm)].map(([, word]) => word)];
    });
    const headings = [...sectionsOf('Errors'), ...sectionsOf('Alarms')];
    expect(structure.sort()).toEqual(
      headings.sort().map((name) => [name, ['Means', 'Look', 'Do', 'Escalate']]),
    );
  });

  it('all errors of AWS, with a row for each that the state machine retries and one for all others', () => {
    const [, text = ''] = runbook.split('\n## What AWS reports\n');
    const rows = [...text.matchAll(/<\/a>([A-Z]\w+(?:\.\w+)?)/g)].map(([, name]) => name);
    expect(rows.sort()).toEqual([...AWS_ERRORS.map(reportedName), OTHER_ERROR].sort());
    // An account whose execution does not start has failed, and no report says why.
    const { ExportAccount: _, ...reported } = retries;
    const retried = Object.values(reported).flatMap((all) => all.flatMap((retry) => retry.errors ?? []));
    const ofAws = retried.filter((name) => name.includes('.')).map(reportedName);
    expect(rows).toEqual(expect.arrayContaining(ofAws));
  });

  it('each alarm, to which its description links', () => {
    const runs = [{ period: 'yesterday', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
    const stack = synthesizeStack({ exports: [{ name: 'daily', metrics: ['spend'], runs }] });
    const alarms = [...resourcesOf(stack, 'AWS::CloudWatch::Alarm').values()];
    const names = alarms.map(({ Properties }) =>
      Properties.AlarmName.replace(/^exports-test-/, '').replace(/-.*/, ''),
    );
    expect(sectionsOf('Alarms').sort()).toEqual([...new Set(names)].sort());
    for (const { Properties } of alarms) expect(anchors).toContain(Properties.AlarmDescription.split('#')[1]);
  });

  const ALL_ERRORS = [...Object.keys(errors), ...AWS_ERRORS, 'TypeError', ''];
  it.each(ALL_ERRORS)('the failure report of %j, which links to it', (name) => {
    const { runbook: link } = createFailureReport(
      { Error: name },
      {
        execution: 'e',
        now: () => new Date(),
        program: 'npm run export --',
      },
    );
    expect(link).toMatch(/^infra\/RUNBOOK\.md#/);
    expect(anchors).toContain(link.split('#')[1]);
  });
});

it('has at most 400 lines', () => {
  expect(runbook.trimEnd().split('\n').length).toBeLessThanOrEqual(400);
});

it('its commands use only variables that it sets, from outputs that the stack has', () => {
  const blocks = [...runbook.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block).join('');
  const inline = [...runbook.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code).join('\n');
  const namesIn = (text: string, pattern: RegExp) =>
    new Set([...text.matchAll(pattern)].map(([, name]) => name));
  const used = namesIn(blocks + inline, /\$\{?([A-Z][A-Z_]*)/g);
  const set = namesIn(blocks, /(?:^|\s)([A-Z_]+)=/g);
  expect(used.size).toBeGreaterThan(0);
  expect([...used].filter((name) => !set.has(name))).toEqual([]);
  expect(Object.values(OUTPUTS)).toEqual(expect.arrayContaining([...namesIn(blocks, /\$\(output (\w+)\)/g)]));
});

it('its search in the logs begins at a time, and reads no line of all years', () => {
  const search = 'aws() { echo "$@"; }; CFN_STACK=stack; eval "$LOGS"; logs PATTERN';
  const [LOGS = ''] = /^logs\(\) \{.*?^\}/ms.exec(runbook) ?? [];
  for (const [hours, argument] of [
    [24, ''],
    [72, ' 72'],
  ]) {
    const printed = execFileSync('bash', ['-c', `${search}${argument}`], {
      env: { LOGS, PATH: process.env.PATH },
    });
    const [, start = ''] = /--start-time (\d+)/.exec(`${printed}`) ?? [];
    expect((Date.now() - Number(start)) / 3_600_000).toBeCloseTo(Number(hours), 1);
  }
});

const WITH_COMMANDS = ['README.md', 'infra/COMMANDS.md', 'infra/HOWTO.md', 'infra/RUNBOOK.md'];
it.each(WITH_COMMANDS)('NAME stands for an export and EXECUTION for an execution in %s', (path) => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  expect(text.match(/\b(explain|resume|stop) "?\$?NAME.*/g)).toBeNull();
  expect(text.match(/\b(run|plan|missing|status|rebuild) "?\$?EXECUTION.*/g)).toBeNull();
});

describe('the first deployment', () => {
  const config = readFileSync(new URL('../../infra/CONFIG.md', import.meta.url), 'utf8');
  const [, steps = ''] = /\n## First deployment\n(.*?)\n## /s.exec(config) ?? [];

  it('names every output of the stack', () => {
    const [, named = ''] = /has the outputs (.*?)\. Each/s.exec(steps) ?? [];
    const names = [...named.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
    const runs = [{ period: 'yesterday', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
    const stack = synthesizeStack({ exports: [{ name: 'daily', metrics: ['spend'], runs }] });
    expect(names.sort()).toEqual(Object.keys(stack.template.Outputs).sort());
  });

  it('names alarms of the stack, and queries a table of the shipped config', () => {
    const { stack: _, ...shipped } = Object(readContext()[CONFIG_KEY]);
    const named = [...steps.matchAll(/alarm\s+([A-Z]\w+)|\$STACK-(\w+)/g)].map(
      ([, name, after]) => name ?? after,
    );
    expect(sectionsOf('Alarms')).toEqual(expect.arrayContaining(named));
    expect(named).toContain('ExportsNotStarted');
    const tables = [...resourcesOf(synthesizeStack(shipped), 'AWS::Glue::Table').values()];
    const columns = tables.map(({ Properties: { TableInput } }) => [
      TableInput.Name,
      TableInput.StorageDescriptor.Columns.map(({ Name }: { Name: string }) => Name),
    ]);
    const [, table] = /query 'SELECT "date", .* sum\(spend\) .* FROM (\w+)/.exec(steps) ?? [];
    expect(columns).toContainEqual([table, expect.arrayContaining(['date', 'spend'])]);
  });
});
