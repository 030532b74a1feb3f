import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { runCommand } from '../../support/cli.ts';

const { stdout: script } = await runCommand(['completion', 'bash']);

/** The words that bash offers for the last of these. */
function complete(...words: string[]): string[] {
  const asked = [
    script,
    `COMP_WORDS=(ad-report-export ${words.map((word) => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${words.length}`,
    '_ad_report_export',
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ];
  const offered = execFileSync('bash', ['-c', asked.join('\n')], { encoding: 'utf8' });
  return offered.split('\n').filter(Boolean);
}

it('completes commands, their options and their arguments in bash', () => {
  expect(complete('re')).toEqual(['resume']);
  expect(complete('')).toEqual(expect.arrayContaining(['run', 'status', 'secret', 'completion']));
  expect(complete('status', '--')).toEqual(['--json', '--local', '--out', '--help']);
  expect(complete('list', '--limit', '5', '--j')).toEqual(['--json']);
  expect(complete('secret', '')).toContain('set');
  expect(complete('completion', 'f')).toEqual(['fish']);
  expect(complete('nothing', '')).toEqual([]);
});

it('defines a command that runs the CLI', () => {
  const version = execFileSync('bash', ['-c', `${script}\nad-report-export --version`], { encoding: 'utf8' });
  expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it.each([
  ['zsh', 'autoload -Uz bashcompinit && bashcompinit\n'],
  ['fish', "complete -c ad-report-export -n '__fish_seen_subcommand_from status' -l json -d '"],
])('has a script for %s', async (shell, expected) => {
  const { status, stdout } = await runCommand(['completion', shell]);
  expect(status).toBe(0);
  expect(stdout).toContain(expected);
});

it('refuses another shell', async () => {
  const { status, stderr } = await runCommand(['completion', 'tcsh']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish.')]);
});
