import { chmodSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import PACKAGE from '../../../../package.json' with { type: 'json' };
import { CONFIG } from '../../../support/checkout.ts';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const TARBALL = `ad-report-export-${PACKAGE.version}.tgz`;

/** Stands for `npm pack`, which would build the package, as the check of the package does. */
const PACKS = `[ "$1" = pack ] && echo packed > "$npm_config_pack_destination/${TARBALL}"`;

/** Puts a program of the name `npm` before the real one. */
function replaceNpm(script: string): void {
  const programs = temporaryDirectory();
  writeFileSync(join(programs, 'npm'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(programs, 'npm'), 0o755);
  vi.stubEnv('PATH', `${programs}:${process.env.PATH}`);
}

beforeEach(() => replaceNpm(PACKS));

describe('init', () => {
  it('writes an app with the config of this repository, its versions and its feature flags', async () => {
    const cwd = temporaryDirectory();
    expect(await runCommand(['init', 'My Ads'], '', cwd)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(
        "cd 'My Ads' && npm install && npx --no-install ad-report-export start",
      ),
    });
    const read = (path: string) => JSON.parse(readFileSync(join(cwd, 'My Ads', path), 'utf8'));
    expect((await import(join(cwd, 'My Ads/ads.config.ts'))).default).toEqual(CONFIG);
    expect(read('package.json')).toMatchObject({
      name: 'my-ads',
      dependencies: { 'ad-report-export': `file:vendor/${TARBALL}`, ...PACKAGE.peerDependencies },
      devDependencies: { 'aws-cdk': `^${PACKAGE.devDependencies['aws-cdk']}` },
    });
    expect(readFileSync(join(cwd, 'My Ads/vendor', TARBALL), 'utf8')).toBe('packed\n');
    expect(read('cdk.json').context).toMatchObject({ '@aws-cdk/core:enablePartitionLiterals': true });
    expect(read('cdk.json').context).not.toHaveProperty('ad-report-export');
  });

  it('writes the config of the sandbox only with --sandbox, and an app that knows it', async () => {
    const cwd = temporaryDirectory();
    for (const args of [['plain'], ['tried', '--sandbox']]) await runCommand(['init', ...args], '', cwd);
    const read = (path: string) => readFileSync(join(cwd, path), 'utf8');
    expect(read('tried/sandbox.ts')).toContain("base_url: 'sandbox'");
    expect(read('tried/app.ts')).toContain('addSandboxStacks(app, sandbox)');
    expect(read('tried/README.md')).toContain('npx cdk deploy --all -c sandbox=true');
    const files = (app: string) => globSync(`${app}/*.*`, { cwd }).map((path) => path.replace(/^\w+\//, ''));
    const expected = ['README.md', 'ads.config.ts', 'app.ts', 'cdk.json', 'package.json', 'tsconfig.json'];
    expect(files('plain').sort()).toEqual(expected);
    expect(files('tried').sort()).toEqual([...expected, 'sandbox.ts'].sort());
    expect(read('plain/app.ts')).not.toContain('andbox');
  });

  it('refuses a folder that the system does not make, before it packs anything', async () => {
    expect(await runCommand(['init', '/proc/none/ads'])).toMatchObject({
      status: 2,
      stderr: 'error: /proc/none/ads cannot be written (ENOENT)\n',
    });
  });

  it('refuses a folder that has any of the files, names them all, packs nothing and writes none', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'ads'));
    for (const name of ['app.ts', 'cdk.json', 'notes.txt']) writeFileSync(join(cwd, 'ads', name), 'mine');
    const { status, stderr } = await runCommand(['init', 'ads'], '', cwd);
    expect(status).toBe(2);
    const fault = (path: string) => `error: ${path} exists: remove it, or name another folder\n`;
    expect(stderr).toBe(fault('ads/cdk.json') + fault('ads/app.ts'));
    expect(globSync('ads/*', { cwd }).map((path) => readFileSync(join(cwd, path), 'utf8'))).toEqual(
      Array(3).fill('mine'),
    );
  });

  it.each([
    ['is a file', 'ads', 'ENOTDIR'],
    ['has a file in place of a folder', 'ads/vendor', 'EEXIST'],
  ])('refuses a folder that %s, before it packs anything', async (_, path, code) => {
    const cwd = temporaryDirectory();
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), 'a file');
    expect(await runCommand(['init', 'ads'], '', cwd)).toMatchObject({
      status: 2,
      stderr: `error: ads cannot be written (${code})\n`,
    });
  });

  it('quotes npm if it cannot pack the package, writes no file, and can be repeated', async () => {
    replaceNpm('echo no space left >&2; exit 1');
    const cwd = temporaryDirectory();
    expect(await runCommand(['init', 'ads'], '', cwd)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/npm could not pack ad-report-export: .*no space left\n.*What to do:/s),
    });
    expect(globSync('ads/**/*', { cwd }).filter((path) => statSync(join(cwd, path)).isFile())).toEqual([]);
    replaceNpm(PACKS);
    expect(await runCommand(['init', 'ads'], '', cwd)).toMatchObject({ status: 0 });
  });
});
