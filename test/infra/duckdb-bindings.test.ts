import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundleFunctions } from '../../infra/constructs/bundle.ts';
import { checkBundle, linkBindings } from '../../infra/duckdb-bindings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ARM64 = 183;
const X64 = 62;

/** The beginning of an ELF file. */
function elf(machine: number): Buffer {
  const header = Buffer.from('\x7fELF'.padEnd(64, '\0'), 'latin1');
  header.writeUInt16LE(machine, 18);
  return header;
}

/** A bundle with these files as its bindings. */
function bundleWith(files: Readonly<Record<string, Buffer>>): string {
  const bundle = temporaryDirectory();
  const folder = join(bundle, 'node_modules/@duckdb/node-bindings-linux-arm64');
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return bundle;
}

describe('a bundle for Lambda', () => {
  const files = { 'duckdb.node': elf(ARM64), 'libduckdb.so': elf(ARM64) };

  it('has the binaries of DuckDB for arm64', () => {
    expect(() => checkBundle(bundleWith(files))).not.toThrow();
  });

  it.each([
    [
      'a library for x64',
      { ...files, 'libduckdb.so': elf(X64) },
      /libduckdb\.so is not for arm64 \(ELF machine 62\)$/,
    ],
    ['no library', { 'duckdb.node': elf(ARM64) }, /libduckdb\.so is missing or no ELF file$/],
    [
      'an empty addon',
      { ...files, 'duckdb.node': Buffer.alloc(0) },
      /duckdb\.node is missing or no ELF file$/,
    ],
    ['nothing', {}, /duckdb\.node is missing .*; .*libduckdb\.so is missing/],
  ])('is refused with %s', (_, content, fault) => {
    expect(() => checkBundle(bundleWith(content))).toThrow(fault);
  });

  it('is refused above 250 MB', () => {
    const bundle = bundleWith(files);
    // A sparse file, which takes no space.
    const large = join(bundle, 'step.cjs');
    writeFileSync(large, '');
    truncateSync(large, 250 * 1024 ** 2 - 2 * 64);
    expect(() => checkBundle(bundle)).not.toThrow();
    truncateSync(large, 250 * 1024 ** 2);
    expect(() => checkBundle(bundle)).toThrow('it has 262144128 bytes, and Lambda allows 262144000');
  });
});

describe('a bundle on this machine', () => {
  /** Runs code in another process, in which `require` looks up packages from the file. */
  function run(file: string, code: string) {
    const script = `const require = (await import('node:module')).createRequire(${JSON.stringify(file)}); ${code}`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      env: {},
      encoding: 'utf8',
    });
    return { stdout, stderr };
  }

  it('loads the bindings that npm installed for it, wherever the bundle is', () => {
    const bundle = temporaryDirectory();
    linkBindings(bundle);
    const code = "console.log(require('@duckdb/node-bindings').library_version());";
    expect(run(join(bundle, 'index.cjs'), code)).toEqual({
      stdout: expect.stringMatching(/^v1\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  it('of CurateReport is complete outside of the project', () => {
    const bundles = temporaryDirectory();
    bundleFunctions(bundles);
    const code = "console.log(typeof require('./index.cjs').handler);";
    expect(run(join(bundles, 'curate-report/index.cjs'), code)).toEqual({ stdout: 'function\n', stderr: '' });
  });
});
