import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runCommand } from '../../../support/cli.ts';

const ROOT = new URL('../../../../', import.meta.url);
const COMMANDS = readFileSync(new URL('infra/COMMANDS.md', ROOT), 'utf8');
const DOCUMENTS = globSync(['*.md', '.github/**/*.md', '{functions,infra,test}/**/*.md'], {
  cwd: fileURLToPath(ROOT),
}).sort();

/** The options that the document names for all commands, or for all but two. */
const COMMON = ['--help', '--config', '--stack', '--region'];

interface Options {
  readonly anywhere: readonly string[];
  readonly local: readonly string[];
}

/** The options of each command by the document's table. A row may add to those of another command. */
function documentedOptions(): Map<string, Options> {
  const [, section = ''] = COMMANDS.split('\n## Options\n');
  const [, table = ''] = section.split('\n|---|---|---|\n');
  const [rows = ''] = table.split('\n\n');
  const byCommand = new Map<string, Options>();
  for (const row of rows.split('\n')) {
    const [names = '', anywhere = '', local = ''] = row.split('|').slice(1, -1);
    const [, base = ''] = /those of `(\w+)`/.exec(anywhere) ?? [];
    const options = {
      anywhere: [...(byCommand.get(base)?.anywhere ?? []), ...optionsIn(anywhere)].sort(),
      local: optionsIn(local).sort(),
    };
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) byCommand.set(name, options);
  }
  return byCommand;
}

function optionsIn(text: string): string[] {
  return [...text.matchAll(/--[a-z][a-z-]+/g)].map(([option]) => option);
}

/** The options of a help: those of the group `With --local`, and the others. */
function optionsOfHelp(help: string): Options {
  const groups = help.split('\n\n').map((group) => ({
    isLocal: group.startsWith('With --local:'),
    options: group.split('\n').flatMap((line) => /^ {2}(?:-\w, )?(--[a-z-]+)/.exec(line)?.[1] ?? []),
  }));
  const optionsOf = (isLocal: boolean) =>
    groups.flatMap((group) => (group.isLocal === isLocal ? group.options : []));
  const isOfCommand = (option: string) => !COMMON.includes(option);
  return { anywhere: optionsOf(false).filter(isOfCommand).sort(), local: optionsOf(true).sort() };
}

it.each([
  ...documentedOptions(),
])('the document has each option of %s, and no other', async (name, options) => {
  const { stdout } = await runCommand([name, '--help']);
  expect(optionsOfHelp(stdout)).toEqual(options);
});

it('the table of options has each command', async () => {
  const { stdout } = await runCommand(['--help']);
  const [, list = ''] = stdout.split('\nCommands:\n');
  const names = [...list.matchAll(/^ {2}(\w+) +[A-Z]/gm)].map(([, name]) => name);
  expect(names).toContain('run');
  expect([...documentedOptions().keys()].sort()).toEqual(names.sort());
});

/** The commands that a document says, without the texts in quotes and the comments. */
function commandsIn(path: string): string[] {
  const text = readFileSync(new URL(path, ROOT), 'utf8');
  const matches = text.matchAll(
    /(?:npm run (?:-s )?export --|npx --no-install ad-report-export) ([a-z][^`|\n]*)/g,
  );
  return [...matches].map(([, command = '']) => command.replaceAll(/"[^"]*"|'[^']*'| #.*/g, ''));
}

it.each(DOCUMENTS)('%s names only commands and options that there are', (path) => {
  const known = documentedOptions();
  const unknown = commandsIn(path).filter((command) => {
    const [name = ''] = command.split(/\W/);
    // `start` is `run --local`.
    const options = known.get(name === 'start' ? 'run' : name);
    if (!options) return true;
    const all = [...COMMON, ...options.anywhere, ...options.local];
    return optionsIn(command).some((option) => !all.includes(option));
  });
  expect(unknown).toEqual([]);
});
