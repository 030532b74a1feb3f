import { describe, expect, it } from 'vitest';
import { openLogger, redact } from '../../../functions/aws/logger.ts';
import { asLambda } from '../../support/lambda.ts';

describe('text that came from elsewhere', () => {
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
  ])('loses what is secret of %j', (text, left) => {
    expect(redact(text)).toBe(left);
  });

  it.each([
    'https://files.example/a.json',
    'is it? yes',
    'a forbearer of ours',
    'Bearer',
  ])('keeps %j', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('is cut where it is longer than 10,000 characters', () => {
    expect(redact('x'.repeat(10_000))).toBe('x'.repeat(10_000));
    expect(redact('x'.repeat(10_001))).toBe(`${'x'.repeat(9_999)}…`);
  });
});

/** The line of an entry. */
function lineOf(fields: Record<string, unknown>) {
  const lambda = asLambda({});
  openLogger().info('seen', fields);
  return lambda.lines()[0];
}

describe('a field', () => {
  it.each([
    'token',
    'access_token',
    'refreshToken',
    'client_secret',
    'secret_name',
    'api_key',
    'apiKey',
    'X-Authorization',
    'password',
    'download_url',
    'downloadUrl',
    'code',
  ])('called %s is not written', (name) => {
    expect(lineOf({ [name]: 'canary' })).toMatchObject({ [name]: '…' });
  });

  it.each([
    ['code', 'ECONNRESET'],
    ['code', 'UND_ERR_SOCKET'],
    ['error_code', 'canary'],
    ['token_version', 'v1'],
    ['tokens', 3],
    ['token', 3],
  ])('called %s is written where it is %j', (name, value) => {
    expect(lineOf({ [name]: value })).toMatchObject({ [name]: value });
  });

  it.each(['econnreset', 'E-1', '1E', 'E1x'])('called code that is %j is not written', (code) => {
    expect(lineOf({ code })).toMatchObject({ code: '…' });
  });

  it('that is secret by its name may look like the code of a failed connection', () => {
    expect(lineOf({ password: 'CANARY' })).toMatchObject({ password: '…' });
  });

  it('is redacted wherever it is', () => {
    expect(lineOf({ deep: [{ happened: 'https://files.example/?canary', secret: 'canary' }] })).toMatchObject(
      {
        deep: [{ happened: 'https://files.example/?…', secret: '…' }],
      },
    );
  });
});

describe('a line', () => {
  it('has the keys of its call, and those that were kept, until the next call', () => {
    const lambda = asLambda({});
    const log = openLogger();
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
});
