import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MEMORY_MB } from '../../../../infra/stack/config/memory.ts';
import { bundleSources, installForLambda } from '../../../../infra/stack/constructs/bundle.ts';
import { CERTIFICATE } from '../../../support/certificate.ts';
import { endOf } from '../../../support/cli.ts';
import { startServer } from '../../../support/listen.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const BUNDLE = new URL('../../../../infra/stack/constructs/bundle.ts', import.meta.url).href;
const NAME = '@duckdb/node-bindings';
const TOKEN = 'token-of-the-company';

/** A tarball of a package with a package.json only. */
function createTarball(): Buffer {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ name: NAME, version: '1.0.0' }));
  execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder });
  return readFileSync(join(folder, 'package.tgz'));
}

function lockOf(tarball: Buffer) {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const packages = {
    '': { optionalDependencies: { [NAME]: '1.0.0' } },
    [`node_modules/${NAME}`]: { version: '1.0.0', integrity, optional: true },
  };
  return JSON.stringify({ lockfileVersion: 3, packages });
}

/** A registry of a company: it wants a token, and its certificate is the company's. */
async function startRegistry(tarball: Buffer) {
  const server = createServer(CERTIFICATE, ({ url = '', headers }, response) => {
    if (headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end();
    if (url.endsWith('.tgz')) return response.end(tarball);
    const dist = { tarball: `https://${headers.host}/package.tgz` };
    const versions = { '1.0.0': { name: NAME, version: '1.0.0', dist } };
    return response.end(JSON.stringify({ name: NAME, versions }));
  });
  return await startServer(server);
}

it('DuckDB for Lambda comes from the registry of the project, and no token stays beside it', async () => {
  const tarball = createTarball();
  await using registry = await startRegistry(tarball);
  const [project, cache] = [temporaryDirectory(), temporaryDirectory()];
  const settings = [
    `registry=https://127.0.0.1:${registry.port}/`,
    `//127.0.0.1:${registry.port}/:_authToken=\${COMPANY_TOKEN}`,
    'cafile=./company.pem',
    'omit[]=optional',
  ];
  writeFileSync(join(project, '.npmrc'), settings.join('\n'));
  writeFileSync(join(project, 'company.pem'), CERTIFICATE.cert);
  writeFileSync(join(project, 'package.json'), '{"workspaces":["apps/*"]}');
  const app = join(project, 'apps/ads');
  mkdirSync(app, { recursive: true });
  writeFileSync(join(app, 'package.json'), '{"name":"ads"}');

  const call = `installForLambda(${JSON.stringify(cache)}, ${JSON.stringify(lockOf(tarball))})`;
  const script = `import { installForLambda } from ${JSON.stringify(BUNDLE)}; process.stdout.write(${call})`;
  // `npm test` tells its commands the settings of this machine.
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name));
  const ours = { COMPANY_TOKEN: TOKEN, npm_config_cache: temporaryDirectory() };
  const env = { ...Object.fromEntries(inherited), ...ours };
  const installing = spawn(process.execPath, ['--input-type=module', '--eval', script], { cwd: app, env });
  const { status, stdout, stderr } = await endOf(installing);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(readFileSync(join(stdout, NAME, 'package.json'), 'utf8')).toContain('1.0.0');
  expect(globSync('**/.npmrc', { cwd: cache })).toEqual([]);
});

it('DuckDB for Lambda can be installed in a cache that is reached by a link', () => {
  const [folder, cache] = [temporaryDirectory(), join(temporaryDirectory(), 'link')];
  symlinkSync(folder, cache);
  const nothing = JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies: {} } } });
  expect(installForLambda(cache, nothing)).toMatch(/link\/lambda-.*\/node_modules$/);
});

it("bundles every step and the sandbox's functions, and nothing else", () => {
  const folder = temporaryDirectory();
  bundleSources(folder);
  const stepOf = (bundle: string) => bundle.replace(/(^|-)(\w)/g, (_, __, letter) => letter.toUpperCase());
  const names = readdirSync(folder).map(stepOf).toSorted();
  expect(names).toEqual([...Object.keys(MEMORY_MB), 'EmptyBucket', 'SandboxFunction'].toSorted());
});
