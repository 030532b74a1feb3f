import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_KEY } from '../../../infra/config/config.ts';
import { type Checkout, CONFIG, createCheckout } from '../../support/checkout.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let checkout: Checkout;

beforeAll(async () => {
  using folders = new DisposableStack();
  checkout = await createCheckout((remove) => folders.defer(remove));
  const ended = folders.move();
  return () => ended.dispose();
});

describe('a faulty cdk.json', () => {
  it('makes a command exit 2 with every fault and no stack trace', async () => {
    const { status, stdout, stderr } = await checkout.run({ ...CONFIG, revision: 'x', stack: '1' }, [
      'doctor',
    ]);
    expect(stderr.trim().split('\n')).toEqual([
      'error: cdk.json: stack: must be 1 to 63 characters of a-z, 0-9 and -, the first a letter',
      'error: cdk.json: revision: must be a date that exists, written YYYY-MM-DD',
    ]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  it('that is not JSON is reported', async () => {
    const { status, stderr } = await checkout.run('{"app":', ['run', 'daily-campaigns']);
    expect(stderr).toMatch(/^error: cdk\.json: it is not JSON: .+\n$/);
    expect(status).toBe(2);
  });
});

it('a cdk.json without the config says how to get one, to a local command too', async () => {
  for (const place of [[], ['--local']]) {
    const { status, stderr } = await checkout.run('{"context":{"other":1}}', ['plan', 'daily', ...place]);
    expect(stderr).toMatch(/^error: cdk\.json: it has no ad-report-export in its context; '.* init DIR' /);
    expect(status).toBe(2);
  }
});

describe('--config', () => {
  const stage = { ...CONFIG, exports: [{ ...CONFIG.exports[0], name: 'staged' }] };
  const planWith = async (name: string, text: string) => {
    const file = join(temporaryDirectory(), name);
    await writeFile(file, text);
    return checkout.run(CONFIG, ['plan', 'staged', '--local', '--config', file]);
  };

  it.each([
    ['stage.json', JSON.stringify(stage)],
    ['cdk.json', JSON.stringify({ context: { [CONFIG_KEY]: stage } })],
    ['stage.ts', `const config: object = ${JSON.stringify(stage)};\nexport default config;`],
  ])('reads %s instead of cdk.json', async (name, text) => {
    const { stdout, stderr } = await planWith(name, text);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^acme\/staged: /), stderr: '' });
  });

  it('is named in faults', async () => {
    expect((await planWith('other.json', JSON.stringify({ ...stage, exports: [] }))).stderr).toMatch(
      /there is no export staged in .*other\.json/,
    );
    expect((await planWith('stage.ts', 'export default {};')).stderr).toMatch(
      /stage\.ts: base_url: is missing/,
    );
    expect((await planWith('stage.js', '}')).stderr).toMatch(/stage\.js: it cannot be loaded: /);
  });
});

it('missing looks at the days of the longest run of an export', async () => {
  const runs = [{ period: 'yesterday' }, { period: 'last_60_days' }];
  const exports = [{ ...CONFIG.exports[0], accounts: ['acme'], runs }];
  const out = temporaryDirectory();
  // A run that delivered nothing yet.
  await mkdir(join(out, 'bucket/exports'), { recursive: true });
  const missing = ['missing', 'daily-campaigns', '--local', '--out', out, '--json'];
  const { stdout } = await checkout.run({ ...CONFIG, exports }, missing);
  expect(JSON.parse(stdout)).toMatchObject({ days: 60 });
});
