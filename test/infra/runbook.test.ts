import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  AWS_ERRORS,
  createFailureReport,
  OTHER_ERROR,
  reportedName,
  runbookLink,
} from '../../functions/decisions/failure-report.ts';
import { errors } from '../../functions/workflow/errors.ts';
import { retries } from '../../infra/constructs/retries.ts';
import { runCommand } from '../support/cli.ts';
import { resourcesOf, synthesizeStack } from '../support/stack.ts';

const runbook = readFileSync(new URL('../../infra/RUNBOOK.md', import.meta.url), 'utf8');

/** The sections of a chapter by their headings. */
function sectionsOf(chapter: string): Map<string, string> {
  const [, text = ''] = runbook.split(`\n## ${chapter}\n`);
  const [own = ''] = text.split(/\n## /);
  const sections = own.split(/\n### /).slice(1);
  return new Map(sections.map((section) => [section.split('\n', 1)[0] ?? '', section]));
}

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-');
}

const chapters = { errors: 'Errors', aws: 'What AWS reports', alarms: 'Alarms' };
const anchors = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
const alarms = [...resourcesOf(synthesizeStack(), 'AWS::CloudWatch::Alarm').values()];

function sectionIn(link: string): string {
  return link.split('#')[1] ?? '';
}

describe('the runbook', () => {
  it('has a section for each of our errors and no others', () => {
    expect([...sectionsOf(chapters.errors).keys()].sort()).toEqual(Object.keys(errors).sort());
  });

  it('has a section for each AWS error that the state machine names, and one for all others', () => {
    const sections = [...sectionsOf(chapters.aws).keys()];
    expect(sections).toEqual([...AWS_ERRORS.map(reportedName), OTHER_ERROR]);
    const retried = Object.values(retries).flatMap((all) => all.flatMap((retry) => retry.errors ?? []));
    const ofAws = retried.filter((name) => name.includes('.')).map(reportedName);
    expect(sections).toEqual(expect.arrayContaining(ofAws));
  });

  it('has a section for each alarm and no others', () => {
    const names = alarms.map(({ Properties }) =>
      Properties.AlarmName.replace(/^exports-test-/, '').replace(/-.*/, ''),
    );
    expect([...sectionsOf(chapters.alarms).keys()].sort()).toEqual([...new Set(names)].sort());
  });

  it('has Means, Look, Do and Escalate in each section, or a link to one that has them', () => {
    for (const chapter of Object.values(chapters)) {
      for (const [heading, text] of sectionsOf(chapter)) {
        const parts = [...text.matchAll(/^- \*\*(\w+)\.\*\* \S/gm)].map(([, part]) => part);
        if (/^As \[.+\]\(#.+\)\.$/m.test(text)) continue;
        expect(parts, heading).toEqual(['Means', 'Look', 'Do', 'Escalate']);
      }
    }
  });

  it('names only commands and options that the CLI has', async () => {
    const named = [...runbook.matchAll(/npm run export -- ([a-z]+)([^`\n]*)/g)];
    const commands = Map.groupBy(named, ([, command = '']) => command);
    expect(commands.size).toBeGreaterThan(0);
    for (const [command, uses] of commands) {
      const { status, stdout } = await runCommand([command, '--help']);
      expect(status, command).toBe(0);
      expect(stdout).toContain(`Usage: npm run export -- ${command} `);
      for (const [option] of uses.join().matchAll(/--[a-z][a-z-]+/g)) expect(stdout).toContain(option);
    }
  });

  it('has no two sections with the same anchor', () => {
    expect(new Set(anchors).size).toBe(anchors.length);
  });
});

describe('a link to a section of the runbook exists', () => {
  it('for every alarm', () => {
    expect(alarms.length).toBeGreaterThan(0);
    for (const { Properties } of alarms) {
      const [link = ''] = /\S+$/.exec(Properties.AlarmDescription) ?? [];
      expect(anchors, link).toContain(sectionIn(link));
    }
  });

  it.each([
    ...Object.keys(errors),
    ...AWS_ERRORS,
    'TypeError',
    '',
  ])('for the failure report of %j', (name) => {
    const { runbook: link } = createFailureReport({ Error: name }, { execution: 'e', now: new Date() });
    expect(link).toMatch(/^infra\/RUNBOOK\.md#/);
    expect(anchors).toContain(sectionIn(link));
  });

  it('for every link within the runbook', () => {
    for (const [, link = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(link);
  });

  it('at the address that the config names', () => {
    expect(runbookLink('ReportStuck', 'https://wiki.example/runbook')).toBe(
      'https://wiki.example/runbook#reportstuck',
    );
  });
});
