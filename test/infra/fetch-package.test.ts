import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchPackage, PackageFault, readLockfile } from '../../infra/fetch-package.ts';
import { listenOnLoopback } from '../../infra/local/loopback.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A registry with one package, and the requests that it got. */
async function startRegistry() {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name: 'tiny', version: '1.2.3' }));
  execFileSync('tar', ['-czf', 'tiny.tgz', 'package'], { cwd: folder });
  const tarball = readFileSync(join(folder, 'tiny.tgz'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const requests: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    requests.push(url);
    if (url.endsWith('.tgz')) return response.end(tarball);
    const dist = { tarball: `http://${headers.host}/tiny.tgz`, integrity };
    const versions = { '1.2.3': { name: 'tiny', version: '1.2.3', dist } };
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.2.3' }, versions }));
  });
  const { address, close } = await listenOnLoopback(server, 0);
  vi.stubEnv('npm_config_registry', `http://${address}/`);
  return {
    requests,
    close,
    [Symbol.asyncDispose]: close,
    pinned: { name: 'tiny', version: '1.2.3', integrity },
  };
}

describe('a package that npm would not install here', () => {
  beforeEach(() => {
    vi.stubEnv('npm_config_cache', temporaryDirectory());
    vi.stubEnv('npm_config_fetch_retries', '0');
  });
  afterEach(() => void vi.unstubAllEnvs());

  it('is downloaded once', async () => {
    const cache = temporaryDirectory();
    const { requests, pinned, close } = await startRegistry();
    const folder = await fetchPackage(pinned, cache);
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      version: '1.2.3',
    });
    await close();
    expect(requests).toContain('/tiny.tgz');
    expect(await fetchPackage(pinned, cache)).toBe(folder);
  });

  it('is refused and not cached if its checksum is not the pinned one', async () => {
    const cache = temporaryDirectory();
    await using registry = await startRegistry();
    const other = { ...registry.pinned, integrity: 'sha512-AAAA' };
    await expect(fetchPackage(other, cache)).rejects.toThrow(/^tiny@1\.2\.3 has the checksum sha512-/);
    expect(readdirSync(cache)).toEqual([]);
  });

  it('is named with the reason if it cannot be downloaded', async () => {
    const { pinned, close } = await startRegistry();
    await close();
    const failure = await fetchPackage(pinned, temporaryDirectory()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PackageFault);
    expect(String(failure)).toMatch(/npm could not download tiny@1\.2\.3: .*ECONNREFUSED/);
  });
});

it('the lockfile pins the bindings of DuckDB for Lambda at the version of its API', () => {
  const { version, integrity } = readLockfile('@duckdb/node-bindings-linux-arm64');
  expect(version).toBe(readLockfile('@duckdb/node-api').version);
  expect(integrity).toMatch(/^sha512-/);
  expect(() => readLockfile('no-such-package')).toThrow('package-lock.json does not pin no-such-package');
});
