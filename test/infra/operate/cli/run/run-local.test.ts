import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addDays } from '../../../../../functions/workflow/request/dates.ts';
import { parseRequest } from '../../../../../functions/workflow/request/request.ts';
import { scaledClock } from '../../../../../infra/lab/local/clock.ts';
import { newestChange } from '../../../../../infra/lab/local/s3/store.ts';
import { startSandbox } from '../../../../../infra/lab/sandbox/start-sandbox.ts';
import { firstQuery } from '../../../../../infra/operate/cli/run/after-run.ts';
import { runCommand } from '../../../../support/cli.ts';
import { listen } from '../../../../support/listen.ts';
import { REPORT as DAILY } from '../../../../support/requests.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const REPORT = JSON.stringify([{ date: '2026-10-01', spend: 1.5, name: 'Ümlaut ✓' }]);
const REQUEST = { ...DAILY, end_date: '2026-10-02' };

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, JSON.stringify(content));
  return path;
}

/** A platform unlike the sandbox: a path prefix, odd ids and an unusual order of statuses. */
async function startPlatform() {
  const storage = await listen((_, response) => {
    response.end(REPORT);
  });
  const statuses = ['PROCESSING', 'CREATED', 'PROCESSING', 'READY', 'READY'];
  const platform = await listen(({ method, path }, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (path === '/eu/v3/oauth2/token') {
      return answer(200, {
        access_token: 'canary-token',
        token_type: 'bearer',
        expires_in: 3600,
        scope: 'reporting:read',
      });
    }
    if (method === 'POST' && path === '/eu/v3/reports') {
      return answer(201, { id: 'r/1 ü', status: 'CREATED', owner: 7 });
    }
    if (path !== `/eu/v3/reports/${encodeURIComponent('r/1 ü')}`) return answer(404, {});
    const status = statuses.shift() ?? 'READY';
    const download_url = `${storage.url}/files/1?signature=canary-signature`;
    return answer(200, { id: 'r/1 ü', status, ...(status === 'READY' && { download_url }) });
  });
  onTestFinished(async () => {
    await platform[Symbol.asyncDispose]();
    await storage[Symbol.asyncDispose]();
  });
  return { platform, storage };
}

async function optionsFor(baseUrl: string, request: unknown): Promise<string[]> {
  const credential = await file('credential.json', { client_id: 'id', client_secret: 'canary-secret' });
  const input = await file('request.json', request);
  const named = {
    '--base-url': baseUrl,
    '--credential': credential,
    '--revision': '2026-05-05',
    '--input': input,
  };
  return ['run', '--local', '--out', join(directory, 'out'), ...Object.entries(named).flat()];
}

it('exports each account of a request from the sandbox', async () => {
  const { account: _, advertiser_ids, ...what } = REQUEST;
  const accounts = ['acme', 'globex'].map((account) => ({ account, advertiser_ids }));
  const input = await file('request.json', { ...what, accounts, table: false });
  const out = join(directory, 'out');
  const args = ['run', '--local', '--input', input, '--out', out, '--speed', '1000'];
  const { status, stdout, stderr } = await runCommand(args);
  expect(stdout).toMatch(/^account +outcome +execution\nacme +delivered +daily-acme-\w+\nglobex +delivered /);
  expect(stderr).toContain(' globex  2026-10-01  delivered');
  expect(status).toBe(0);
});

it("exports each account from a platform of one's own, with a credential file for each account", async () => {
  const secrets = { acme: 'acme-secret', globex: 'globex-secret' };
  const credentials = Object.entries(secrets).map(([clientId, clientSecret]) => ({ clientId, clientSecret }));
  await using sandbox = await startSandbox({ credentials, now: scaledClock(1000).now });
  const { account: _, ...what } = REQUEST;
  const accounts = Object.keys(secrets).map((account) => ({
    account,
    advertiser_ids: sandbox.advertiserIds,
  }));
  const options = await optionsFor(sandbox.baseUrl, {
    ...what,
    advertiser_ids: undefined,
    accounts,
    table: false,
  });
  for (const [client_id, client_secret] of Object.entries(secrets))
    await file(`credential-${client_id}.json`, { client_id, client_secret });
  const credential = join(directory, 'credential-{account}.json');
  const { status, stdout, stderr } = await runCommand([
    ...options,
    ...['--revision', sandbox.revision, '--credential', credential, '--speed', '1000'],
  ]);
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining(' globex  ') });
  expect(stdout).toMatch(/^account +outcome +execution\nacme +delivered .*\nglobex +delivered /);
  const logins = sandbox.journal.filter(({ endpoint }) => endpoint === 'token');
  const clients = logins.map(
    ({ headers }) =>
      Buffer.from(String(headers.authorization).replace('Basic ', ''), 'base64').toString().split(':')[0],
  );
  expect(new Set(clients)).toEqual(new Set(Object.keys(secrets)));
});

it('resumes the accounts of a failed run that are not done', async () => {
  await using sandbox = await startSandbox({
    credentials: ['acme', 'globex'].map((clientId) => ({ clientId, clientSecret: `${clientId}-secret` })),
    now: scaledClock(1000).now,
  });
  const { account: _, ...what } = REQUEST;
  const accounts = ['acme', 'globex'].map((account) => {
    return { account, advertiser_ids: sandbox.advertiserIds };
  });
  const request = { ...what, advertiser_ids: undefined, accounts, table: false };
  const options = await optionsFor(sandbox.baseUrl, request);
  const login = (account: string, client_secret: string) =>
    file(`credential-${account}.json`, { client_id: account, client_secret });
  await login('acme', 'acme-secret');
  await login('globex', 'a wrong one');
  const credential = join(directory, 'credential-{account}.json');
  const common = ['--revision', sandbox.revision, '--credential', credential];
  const { status, stderr } = await runCommand([...options, ...common, '--speed', '1000']);
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringMatching(/^globex +failed/m) });
  const [, next = ''] = /^Then: npm run export -- (.*)$/m.exec(stderr) ?? [];
  expect(next).toMatch(/^resume daily-\S+ --local --out \S+$/);

  await login('globex', 'globex-secret');
  const before = sandbox.reports().length;
  const resumed = await runCommand([...next.split(' '), '--speed', '1000']);
  expect(resumed).toMatchObject({ status: 0, stdout: expect.stringMatching(/\nglobex +delivered /) });
  expect(resumed.stdout).not.toContain('acme');
  expect(sandbox.reports()).toHaveLength(before + 1);
});

describe('run --local', () => {
  it('works with any server that keeps the contract', async () => {
    const { platform, storage } = await startPlatform();
    const options = await optionsFor(`${platform.url}/eu/v3/`, REQUEST);
    const { status, stdout, stderr } = await runCommand([...options, '--speed', '100', '--json']);
    expect(stderr).not.toMatch(/rror|times in the future/);
    expect(status).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({
      outcome: 'delivered',
      account: 'acme',
      rows: 1,
      bytes: Buffer.byteLength(REPORT),
    });
    const out = join(directory, 'out');
    expect(await readFile(join(out, result.bucket, result.windows[0].key), 'utf8')).toBe(REPORT);
    expect(platform.requests.slice(1).map(({ headers }) => headers['x-service-revision'])).not.toContain(
      undefined,
    );
    expect(storage.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(storage.requests[0]?.headers).not.toHaveProperty('x-service-revision');
    const written = await Promise.all(
      ['events.jsonl', 'history.json', 'index.html', 'platform.json'].map((name) =>
        readFile(join(out, name), 'utf8'),
      ),
    );
    expect([stdout, stderr, ...written].join()).not.toContain('canary');
    expect(stderr.split('\n').slice(-2)).toEqual([`See it: ${join(out, 'index.html')}`, '']);
  });

  it('36: exits 2 with every fault named and no request made', async () => {
    const { platform } = await startPlatform();
    const faulty = {
      ...REQUEST,
      start_date: '2026-02-30',
      advertiser_ids: [],
      colour: 'red',
      dimensions: ['conv_integration_os'],
    };
    const { status, stdout } = await runCommand([...(await optionsFor(platform.url, faulty)), '--json']);
    expect(status).toBe(2);
    const faults: string[] = JSON.parse(stdout).faults;
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(
      expect.arrayContaining(['start_date', 'advertiser_ids', 'colour', 'dimensions[0]']),
    );
    expect(platform.requests).toEqual([]);
  });

  describe('in the folder of an earlier run', () => {
    /** Exports two days, and counts what the platform gets from then on. */
    async function startAgain() {
      const { platform } = await startPlatform();
      const first = await optionsFor(`${platform.url}/eu/v3`, { ...REQUEST, end_date: '2026-10-03' });
      expect(await runCommand([...first, '--speed', '100'])).toMatchObject({ status: 0 });
      const before = platform.requests.length;
      const place = ['run', '--local', '--out', join(directory, 'out')];
      return { platform, place, sent: () => platform.requests.slice(before) };
    }

    it('exports the last request of a name from the last platform', async () => {
      const { place, sent } = await startAgain();
      const days = ['--from', '2026-10-01', '--to', '2026-10-02'];
      const named = ['daily', '--account', 'acme', ...days, '--speed', '100', '--json'];
      const { stdout } = await runCommand([...place, ...named]);
      expect(JSON.parse(stdout)).toMatchObject({ outcome: 'delivered', end_date: '2026-10-02' });
      expect(sent().at(-1)?.path).toContain('/eu/v3/');
    });

    it.each([
      ['metrics', { metrics: ['impressions'] }],
      ['revision', { revision: '2026-01-01' }],
    ])('refuses a request with other %s, and asks the platform nothing', async (_, changes) => {
      const { place, sent } = await startAgain();
      const input = await file('other.json', { ...REQUEST, ...changes });
      const { status, stderr } = await runCommand([...place, '--input', input]);
      expect(status).toBe(2);
      expect(stderr).toContain(
        'acme/daily of another request or revision, whose days this one would replace',
      );
      expect(sent()).toEqual([]);
    });

    it('refuses another platform, and asks it nothing', async () => {
      const { platform, sent } = await startAgain();
      const options = await optionsFor(platform.url, { ...REQUEST, name: 'more' });
      const { status, stderr } = await runCommand(options);
      expect(status).toBe(2);
      expect(stderr).toMatch(
        /has the files of 127.0.0.1\/eu\/v3, and this run would export from 127.0.0.1: .* --out$/m,
      );
      expect(sent()).toEqual([]);
    });
  });

  it.each([
    [['--base-url', 'http://10.0.0.1'], ["option '--base-url <url>' argument"]],
    [
      ['--base-url', 'http://127.0.0.1:9'],
      ['needs --revision', 'needs --credential'],
    ],
    [['--revision', '2026-01-01'], ['--revision needs --base-url']],
    [['--base-url', 'http://127.0.0.1:9', '--credential', '.'], ['--credential . is a folder']],
    [['--input', '/no/such/file'], ['cannot be read (ENOENT)']],
    [['--out', '/proc/none/out'], ['--out /proc/none/out cannot be written (ENOENT)']],
    [['--out', '/proc'], ['--out /proc cannot be written (']],
    [['--out', `${import.meta.filename}/out`], ['run-local.test.ts/out cannot be written (ENOTDIR)']],
    [['no-such-export'], ['no export no-such-export in cdk.json, and no run of it in out (there are ']],
    [['daily-campaign'], ['and no run of it in out (did you mean daily-campaigns?)']],
    [
      ['monthly-totals', '--from', '2126-10-01', '--to', '2126-11-01'],
      ['start_date: all days 2126-10-01 to 2126-10-31 are'],
    ],
    [
      ['--base-url', 'http://127.0.0.1:9', '--restated-days', '3'],
      ['--restated-days changes the sandbox, which --base-url replaces'],
    ],
  ])('exits 2 with the arguments %j', async (args, expected) => {
    const { status, stdout, stderr } = await runCommand(['run', '--local', ...args]);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    for (const fault of expected) expect(stderr).toContain(fault);
  });

  it('names the account that a mistyped one may mean', async () => {
    const input = await file('request.json', { ...REQUEST, account: 'acmee', table: false });
    const place = ['--out', join(directory, 'out'), '--speed', '1000'];
    const { stderr } = await runCommand(['run', '--local', '--input', input, ...place]);
    expect(stderr).toContain('warning: there is no account acmee in cdk.json (did you mean acme?)\n');
  });

  it.each([
    ['a half', '{"name":', '--input - is not JSON'],
    ['a list after a byte order mark', '\uFEFF[]', 'the request must be of type object'],
    ['a dead letter', JSON.stringify({ Input: '[]' }), 'the request must be of type object'],
    ['one as a text', JSON.stringify('{"input":"[]"}'), 'the request must be of type object'],
  ])('refuses %s from standard input', async (_, text, expected) => {
    const { status, stderr } = await runCommand(['run', '--local', '--input', '-'], text);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(`error: ${expected}`) });
  });

  it.each([
    [0o644, 'warning: every user of this machine can read'],
    [0o640, ''],
  ])('says if everybody may read the credential: mode %o', async (mode, expected) => {
    const options = await optionsFor('http://127.0.0.1:9', { ...REQUEST, metrics: [] });
    await chmod(join(directory, 'credential.json'), mode);
    const { stderr } = await runCommand(options);
    expect(/^warning.*can read/m.exec(stderr)?.[0] ?? '').toBe(expected);
  });
});

it('a sandbox has the advertisers of the request, and restates days from run to run if it is told to', async () => {
  const out = temporaryDirectory();
  const day = addDays(new Date().toISOString().slice(0, 10), -3);
  const range = ['--from', day, '--to', addDays(day, 1)];
  const args = [...range, '--out', out, '--speed', '300', '--restated-days', '4', '--json'];
  const run = async (name: string, ...options: readonly string[]) =>
    JSON.parse((await runCommand(['run', name, '--local', ...args, ...options])).stdout);
  const daily = await runCommand(['run', 'monthly-totals', '--local', ...args, '--daily', '2']);
  expect(JSON.parse(daily.stdout)).toMatchObject({ outcome: 'delivered', restated: 1 });
  expect(daily.stderr.match(/^run \d.*(?=, 20\d\d-)/gm)).toEqual(['run 1 of 2', 'run 2 of 2']);
  const sql = `SELECT count(*) AS days FROM (SELECT report_created_at - lag(report_created_at)
    OVER (ORDER BY report_created_at) AS gap FROM ledger) WHERE gap > INTERVAL 12 HOUR`;
  const { stdout } = await runCommand(['query', '--local', '--out', out, '--json', sql]);
  expect(JSON.parse(stdout).rows).toEqual([{ days: '1' }]);
  // Later days would be in the future.
  const again = await runCommand(['run', 'monthly-totals', '--local', ...args, '--daily', '2']);
  expect(again).toMatchObject({ status: 2, stderr: expect.stringContaining('name another folder') });
  // The export of `npm start` has a name too.
  expect(await run('example')).toMatchObject({ outcome: 'delivered', account: 'sandbox' });
});

it('a faster run leaves no time of the future in the folder, also right after another run', async () => {
  const out = temporaryDirectory();
  const options = ['run', 'example', '--local', '--out', out, '--speed', '1000', '--json'];
  for (const _ of [1, 2]) {
    expect(JSON.parse((await runCommand(options)).stdout)).toMatchObject({ outcome: 'delivered' });
    expect(await newestChange(out)).toBeLessThanOrEqual(Date.now());
  }
});

it.each([
  ['order', 'order', 'SELECT * FROM "order" LIMIT 10'],
  ['7-days', '7-days', 'SELECT * FROM "7_days" LIMIT 10'],
  ['daily', 'another', undefined],
])('names the query of the export %s, if its table was written', async (name, table, sql) => {
  const out = temporaryDirectory();
  await mkdir(join(out, 'bucket/tables', table), { recursive: true });
  const { request } = parseRequest({ ...REQUEST, name }, new Date());
  const query = sql && `npm run export -- query --local --out ${out} '${sql}'`;
  expect(firstQuery(request, { out, bucket: 'bucket' })).toBe(query);
});
