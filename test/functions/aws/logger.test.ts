import { spawnSync } from 'node:child_process';
import { describe, expect, it, test } from 'vitest';
import { createLogger, redact } from '../../../functions/aws/logger.ts';
import { asLambda } from '../../support/lambda.ts';

describe('redact', () => {
  it.each([
    [
      'GET https://files.example/a.json?X-Amz-Signature=canary failed',
      'GET https://files.example/a.json?… failed',
    ],
    ['"http://files.example/a?b=canary"', '"http://files.example/a?…"'],
    ["'https://files.example/a?b=canary'", "'https://files.example/a?…'"],
    ['<https://files.example/a?b=canary>', '<https://files.example/a?…>'],
    [
      'https://files.example/a?b=canary https://files.example/?canary',
      'https://files.example/a?… https://files.example/?…',
    ],
    ['authorization: Bearer ca.na~ry+/=-_ and more', 'authorization: Bearer … and more'],
    ['basic canary', 'basic …'],
    ['BEARER  canary', 'BEARER …'],
  ])('removes the secret from %j', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    'https://files.example/a.json',
    'is it? yes',
    'a forbearer of ours',
    'Bearer',
  ])('keeps %j', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('cuts text after 10,000 characters', () => {
    expect(redact('x'.repeat(10_000))).toBe('x'.repeat(10_000));
    expect(redact('x'.repeat(10_001))).toBe(`${'x'.repeat(9_999)}…`);
  });
});

describe('a log field', () => {
  function lineOf(fields: Record<string, unknown>) {
    const lambda = asLambda({});
    createLogger().info('seen', fields);
    return lambda.lines()[0];
  }

  it.each([
    ...['token', 'access_token', 'refreshToken', 'client_secret', 'secret_name', 'api_key', 'apiKey'],
    ...['X-Authorization', 'password', 'download_url', 'downloadUrl', 'code'],
  ])('named %s is not written', (name) => {
    expect(lineOf({ [name]: 'canary' })).toMatchObject({ [name]: '…' });
  });

  it.each([
    ['code', 'ECONNRESET'],
    ['code', 'UND_ERR_SOCKET'],
    ['error_code', 'canary'],
    ['token_version', 'v1'],
    ['tokens', 3],
    ['token', 3],
  ])('named %s is written if its value is %j', (name, value) => {
    expect(lineOf({ [name]: value })).toMatchObject({ [name]: value });
  });

  it.each(['econnreset', 'E-1', '1E', 'E1x'])('named code is not written if its value is %j', (code) => {
    expect(lineOf({ code })).toMatchObject({ code: '…' });
  });

  it('with a secret name is not written even if its value looks like an error code', () => {
    expect(lineOf({ password: 'CANARY' })).toMatchObject({ password: '…' });
  });

  it('is redacted at any depth', () => {
    expect(lineOf({ deep: [{ happened: 'https://files.example/?canary', secret: 'canary' }] })).toMatchObject(
      { deep: [{ happened: 'https://files.example/?…', secret: '…' }] },
    );
  });
});

it('writes the keys of the call and the kept fields on each line, until the next call', () => {
  const lambda = asLambda({});
  const log = createLogger();
  log.setKeys({ execution: 'one' });
  log.keep({ report_id: 'r-1' });
  log.warn('waits', { seconds: 10 });
  log.setKeys({ execution: 'two' });
  log.error('failed');
  expect(lambda.lines()).toEqual([
    { level: 'WARN', message: 'waits', execution: 'one', report_id: 'r-1', seconds: 10 },
    { level: 'ERROR', message: 'failed', execution: 'two' },
  ]);
});

describe('logOtherOutput', () => {
  const SECRET = 'https://files.example/1?signature=canary';
  const LOGGER = new URL('../../../functions/aws/logger.ts', import.meta.url).href;

  /** Runs a script in a process whose other output goes to the log. */
  function run(script: string) {
    const preamble = `
      const { createLogger, logOtherOutput } = await import('${LOGGER}');
      const log = createLogger();
      log.setKeys({ execution: 'daily-1' });
      logOtherOutput(log);
    `;
    const args = ['--input-type=module', '-e', preamble + script];
    return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  }

  function linesOf(script: string) {
    const { stdout, stderr } = run(script);
    const lines = [stdout, stderr].flatMap((text) => text.split('\n').filter(Boolean));
    return lines.map((text) => JSON.parse(text));
  }

  test.each([
    ['the console', `console.warn('about %s', '${SECRET}', { a: 1 })`, 'WARN'],
    ['two lines on the console', `console.log('one\\ntwo ${SECRET}')`, 'INFO'],
    ['a warning of Node', `process.emitWarning('about ${SECRET}', 'DeprecationWarning')`, 'WARN'],
    ['an uncaught error', `setImmediate(() => { throw new Error('about ${SECRET}') })`, 'ERROR'],
    ['an unhandled rejection', `Promise.reject(new Error('about ${SECRET}'))`, 'ERROR'],
  ])('turns %s into one JSON line with ids and without the secret', (_, script, level) => {
    const lines = linesOf(script);
    expect(lines).toMatchObject([{ level, execution: 'daily-1' }]);
    expect(JSON.stringify(lines)).toContain('https://files.example/1?…');
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  test('long text from a server is cut in little time', () => {
    const [line] = linesOf(`log.warn('seen', { status: 'https://'.repeat(130_000) + '${SECRET}' })`);
    expect(line.status).toHaveLength(10_000);
    expect(line.status).toMatch(/^https:.*…$/);
  });

  test.each([
    ['an uncaught error', "setImmediate(() => { throw new Error('late') })"],
    ['an unhandled rejection', "Promise.reject(new Error('late'))"],
    ['a rejection without an error', "Promise.reject('late')"],
  ])('%s still ends the process', (_, script) => {
    const { status, stdout, stderr } = run(`setInterval(() => {}, 1000); ${script}`);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ level: 'ERROR', happened: expect.stringContaining('late') });
  });

  test('the runtime prints an uncaught error without its secret', () => {
    const runtime = `process.on('uncaughtException', ({ message, stack }) =>
      process.stdout.write(JSON.stringify({ message, stack })));`;
    const lines = linesOf(`${runtime} setImmediate(() => { throw new Error('about ${SECRET}') })`);
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });
});
