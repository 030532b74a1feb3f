import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  AWS_ERRORS,
  createFailureReport,
  OTHER_ERROR,
  runbookLink,
} from '../../functions/decisions/failure-report.ts';
import { errors } from '../../functions/workflow/errors.ts';
import { retries } from '../../infra/constructs/retries.ts';
import { runCommand } from '../support/cli.ts';
import { resourcesOf, synthesizeStack } from '../support/stack.ts';

const runbook = readFileSync(new URL('../../infra/RUNBOOK.md', import.meta.url), 'utf8');

/** The headings of one chapter, and the text of each. */
function sectionsOf(chapter: string): Map<string, string> {
  const [, text = ''] = runbook.split(`\n## ${chapter}\n`);
  const [own = ''] = text.split(/\n## /);
  const sections = own.split(/\n### /).slice(1);
  return new Map(sections.map((section) => [section.split('\n', 1)[0] ?? '', section]));
}

/** As GitHub makes it of a heading. */
function address(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-');
}

const chapters = { errors: 'Errors', aws: 'What AWS reports', alarms: 'Alarms' };
const addresses = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => address(heading));
const alarms = [...resourcesOf(synthesizeStack(), 'AWS::CloudWatch::Alarm').values()];

function sectionIn(link: string): string {
  return link.split('#')[1] ?? '';
}

describe('the runbook', () => {
  it('has a section for each error of ours, and for no other', () => {
    expect([...sectionsOf(chapters.errors).keys()].sort()).toEqual(Object.keys(errors).sort());
  });

  it('has a section for each error of AWS that the state machine knows, and for the rest', () => {
    const sections = [...sectionsOf(chapters.aws).keys()];
    expect(sections).toEqual([...AWS_ERRORS, OTHER_ERROR]);
    const retried = Object.values(retries).flatMap((all) => all.flatMap((retry) => retry.errors ?? []));
    const ofAws = retried.filter((name) => name.includes('.'));
    expect(sections).toEqual(expect.arrayContaining(ofAws));
  });

  it('has a section for each alarm, and for no other', () => {
    const names = alarms.map(({ Properties }) =>
      Properties.AlarmName.replace(/^exports-test-/, '').replace(/-.*/, ''),
    );
    expect([...sectionsOf(chapters.alarms).keys()].sort()).toEqual([...new Set(names)].sort());
  });

  it('says in each section what it means, where to look, what to do and when to escalate, or leads to one that does', () => {
    for (const chapter of Object.values(chapters)) {
      for (const [heading, text] of sectionsOf(chapter)) {
        const parts = [...text.matchAll(/^- \*\*(\w+)\.\*\* \S/gm)].map(([, part]) => part);
        if (/^As \[.+\]\(#.+\)\.$/m.test(text)) continue;
        expect(parts, heading).toEqual(['Means', 'Look', 'Do', 'Escalate']);
      }
    }
  });

  it('names commands and options of the CLI that there are', async () => {
    const named = [...runbook.matchAll(/npm run export -- ([a-z]+)([^`\n]*)/g)];
    const commands = Map.groupBy(named, ([, command = '']) => command);
    expect([...commands.keys()].sort()).toEqual(['doctor', 'login', 'resume', 'run']);
    for (const [command, uses] of commands) {
      const { status, stdout } = await runCommand([command, '--help']);
      expect(status, command).toBe(0);
      for (const [option] of uses.join().matchAll(/--[a-z][a-z-]+/g)) expect(stdout).toContain(option);
    }
  });

  it('has no two sections of one address', () => {
    expect(new Set(addresses).size).toBe(addresses.length);
  });
});

describe('every link leads to a section:', () => {
  it('those of the alarms', () => {
    expect(alarms.length).toBeGreaterThan(0);
    for (const { Properties } of alarms) {
      const [link = ''] = /\S+$/.exec(Properties.AlarmDescription) ?? [];
      expect(addresses, link).toContain(sectionIn(link));
    }
  });

  it.each([...Object.keys(errors), ...AWS_ERRORS, 'TypeError', ''])('that of the card of %j', (name) => {
    const { runbook: link } = createFailureReport({ Error: name }, { execution: 'e', now: new Date() });
    expect(link).toMatch(/^infra\/RUNBOOK\.md#/);
    expect(addresses).toContain(sectionIn(link));
  });

  it('those within the runbook', () => {
    for (const [, link = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) expect(addresses).toContain(link);
  });

  it('and those to where the config says that it can be read', () => {
    expect(runbookLink('ReportStuck', 'https://wiki.example/runbook')).toBe(
      'https://wiki.example/runbook#reportstuck',
    );
  });
});
