import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../../', import.meta.url);
const TABLES = 'functions/platform/README.md';

const CONFIG = ['infra/config.ts'];
const REQUEST = ['fields', 'list', 'purchases', 'report'].map(
  (kind) => `functions/workflow/request/${kind}.ts`,
);

/** Every section that has rules; 6 only says that nothing is shown. */
const SECTIONS = [
  ...['2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '3'],
  ...['4.1', '4.2', '4.3', '4.4', '4.5', '4.6'],
  ...['5.1', '5.2', '5.3', '5.4', '5.5', '5.6', '5.7'],
  ...['7.1', '7.2', '7.3', '8'],
  ...['9.1', '9.2', '9.3', '9.4', '9.5', '9.6', '9.7'],
];

interface Rule {
  readonly section: string;
  readonly rule: string;
  /** Test names as vitest prints them, `describe > it`, each with its file. */
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

const text = read(TABLES);
const rules = text.split('\n').flatMap(readRule);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

function codeIn(cell: string): string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, code]) => code ?? '');
}

/** A row of four cells whose first is a section; the tables of what is not shown have three. */
function readRule(line: string): Rule[] {
  const [section = '', rule = '', , tests, ...more] = line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  if (!/^\d/.test(section) || tests === undefined) return [];
  if (more.length > 0) throw new Error(`a cell holds a "|": ${line}`);
  return [{ section, rule, tests: readTests(tests) }];
}

/** A file stands before the names of its tests. */
function readTests(cell: string): Rule['tests'] {
  let file = '';
  return codeIn(cell).flatMap((code) => {
    if (!code.startsWith('test/')) return [{ file, name: code }];
    file = code;
    return [];
  });
}

/** What stands behind `test(`, `describe(` or the table of an `each(…)`, in the order of the file. */
function titlesIn(file: string): string[] {
  const title = /(?:\b(?:it|test|describe)|\))\(\s*(['"])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
  return Array.from(read(file).matchAll(title), ([, , found]) => (found ?? '').replaceAll("\\'", "'"));
}

/** Each part of a name comes after the one that it stands in. */
function holds(titles: readonly string[], name: string): boolean {
  let at = -1;
  return name.split(' > ').every((part) => {
    at = titles.indexOf(part, at + 1);
    return at >= 0;
  });
}

/** `4.1:`, `2.2, 5.4:` or `4.1 and 4.2:` at the beginning of a title, or `contract …` anywhere. */
function names(test: string, section: string): boolean {
  const citations = Array.from(
    test.matchAll(/(?:^|> |contract )((?:\d[\d.]*(?:, | and )?)+)(?=[:)])/g),
    ([, cited]) => cited ?? '',
  );
  return citations.some((cited) => cited.split(/, | and /).includes(section));
}

describe('the tables of how the contract is honoured', () => {
  it('have a rule of every section', () => {
    expect([...new Set(rules.map(({ section }) => section))].sort()).toEqual([...SECTIONS].sort());
  });

  it('name files that are there', () => {
    const files = codeIn(text).filter((code) => /^(functions|infra|test)\/\S*\.ts$/.test(code));
    expect(files.length).toBeGreaterThan(SECTIONS.length);
    expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
  });

  it('name tests that are there', () => {
    const tests = rules.flatMap((rule) => rule.tests);
    const titles = new Map(tests.map(({ file }) => [file, titlesIn(file)]));
    expect(tests.filter(({ file, name }) => !holds(titles.get(file) ?? [], name))).toEqual([]);
  });

  it('show each rule with a test that names its section', () => {
    const shown = ({ tests, section }: Rule) => tests.some(({ name }) => names(name, section));
    expect(rules.filter((rule) => !shown(rule)).map(({ section, rule }) => `${section} ${rule}`)).toEqual([]);
  });

  it('name settings that are there', () => {
    const settings = Array.from(text.matchAll(/(config|request field) `(\w+)`/gi), ([, of, name]) => {
      const where = of?.toLowerCase() === 'config' ? CONFIG : REQUEST;
      return { of, name, isThere: where.some((file) => new RegExp(`^  ${name}[:,]`, 'm').test(read(file))) };
    });
    expect(settings.length).toBeGreaterThan(5);
    expect(settings.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it('say of every section with a gap what covers it', () => {
    const [, gaps = ''] = text.split('## What the contract does not show');
    const covered = Array.from(gaps.matchAll(/^\| ([\d., ]+) \|/gm), ([, cell]) => (cell ?? '').split(', '));
    const sections = ['2.2', '2.6', '3', '4.1', '4.5', '4.6', '6', '7.3', '8', '9.7'];
    expect(covered.flat()).toEqual(expect.arrayContaining(sections));
  });
});
