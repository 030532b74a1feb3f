import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsIn } from './support/anchors.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = globSync(['*.md', '.github/**/*.md', '{functions,infra,test}/**/*.md'], {
  cwd: ROOT,
}).sort();

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').trimEnd();
}

function linesOf(path: string): string[] {
  return textOf(path).split('\n');
}

it.each(
  DOCUMENTS.filter((path) => path !== 'README.md'),
)('%s has no line of more than 110 characters but tables, code and links', (path) => {
  const text = textOf(path);
  const prose = text.replaceAll(/^( *)```.*?^\1```/gms, '').split('\n');
  const unbreakable = /^(\|| {4}\S|<)|^ *(- |\d+\. )?(`[^`]+`|\[[^\]]+\]\([^)]+\))\S*$/;
  expect(prose.filter((line) => line.length > 110 && !unbreakable.test(line))).toEqual([]);
});

it('the README has at most 150 lines of 120 characters, tables aside', () => {
  const lines = linesOf('README.md').filter((line) => !line.startsWith('|'));
  expect(lines.length).toBeLessThanOrEqual(150);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

it('workflows use actions by their commit, because whoever owns a tag can move it', () => {
  const files = ['.github/workflows/ci.yml', 'infra/init/.github/workflows/deploy.yml'];
  const used = files.flatMap((file) => [...textOf(file).matchAll(/uses: (.+)/g)].map(([, action]) => action));
  expect(used.length).toBeGreaterThan(4);
  expect(used.filter((action = '') => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/.test(action))).toEqual([]);
});

it.each(DOCUMENTS)('%s has no command that downloads the package, whose name nobody owns', (path) => {
  const packages = [...textOf(path).matchAll(/\bnpx (?!cdk\b|--no-install )\S+ \S+/g)].map(
    ([command]) => command,
  );
  expect(packages).toEqual([]);
});

it("the README's prices are in the reference's table of costs", () => {
  const prices = [...textOf('README.md').matchAll(/\$(\d+\.\d+)/g)].map(([, price]) => price);
  const listed = linesOf('infra/CONFIG.md').flatMap((line) =>
    line.startsWith('|') ? [line.split('|')[2]?.trim()] : [],
  );
  expect(prices).not.toEqual([]);
  expect(listed).toEqual(expect.arrayContaining(prices));
});

describe.each(DOCUMENTS)('%s', (path) => {
  const links = [...textOf(path).matchAll(/(?:\]\(|src(?:set)?=")(?!https?:)([^)"#]*)(?:#([^)]+))?[)"]/g)];

  it('links to files and sections that exist', () => {
    for (const [link, file = '', anchor] of links) {
      const target = file === '' ? path : normalize(join(path, '..', file));
      expect(existsSync(join(ROOT, target)), link).toBe(true);
      if (anchor !== undefined) expect(anchorsIn(textOf(target)), link).toContain(anchor);
    }
  });
});

it('the changelog begins with what is unreleased, or with the version of package.json', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const newest = linesOf('CHANGELOG.md').find((line) => line.startsWith('## '));
  const released = new RegExp(`^## ${version.replaceAll('.', '\\.')} - \\d{4}-\\d{2}-\\d{2}$`);
  expect(newest === '## Unreleased' || released.test(newest ?? '')).toBe(true);
});
