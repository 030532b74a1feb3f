import { spawnSync } from 'node:child_process';
import { describe, expect, it, test } from 'vitest';
import { metricsIn } from '../../support/emf.ts';
import { SETTINGS } from '../../support/lambda.ts';

// Each test runs in its own process, whose stdout and stderr are what Lambda would read.

const SECRET = 'https://files.example/1?signature=canary';
const HANDLER = new URL('../../../functions/aws/handler.ts', import.meta.url).href;

/** Calls a handler whose step runs this script. */
function run(script: string) {
  const state = { execution: 'daily-1', request: { account: 'acme', name: 'daily' } };
  const program = `
    console.log = (text) => process.stdout.write(JSON.stringify({ level: 'INFO', message: text }));
    const { createHandler } = await import('${HANDLER}');
    const handler = createHandler(['STEP'], { parse: (state) => state }, async () => { ${script} }, () => ({}));
    const event = { state: ${JSON.stringify(state)}, retry_count: 1 };
    await handler(event, { awsRequestId: 'i-1' }).catch(() => {});`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...SETTINGS, POWERTOOLS_SERVICE_NAME: 'exports-test' },
    encoding: 'utf8',
    timeout: 20_000,
  });
  return { status, lines: `${stdout}${stderr}`.split('\n').filter(Boolean) };
}

function linesOf(script: string) {
  return run(script).lines.map((text) => JSON.parse(text));
}

describe('other output', () => {
  test.each([
    ['the console', `console.warn('about %s', '${SECRET}', { a: 1 })`, 'WARN'],
    ['a warning of Node', `process.emitWarning('about ${SECRET}', 'DeprecationWarning')`, 'WARN'],
  ])('of %s becomes one JSON line with ids and without the secret', (_, script, level) => {
    const others = linesOf(script).filter(({ message }) => message !== 'done');
    expect(others).toMatchObject([{ level, execution: 'daily-1', invocation: 'i-1' }]);
    expect(JSON.stringify(others)).toContain('https://files.example/1?…');
    expect(JSON.stringify(others)).not.toContain('canary');
  });

  test.each([
    ['an uncaught error', `setImmediate(() => { throw new Error('about ${SECRET}') })`],
    ['an unhandled rejection', `Promise.reject(new Error('about ${SECRET}'))`],
  ])('of %s becomes one JSON line, and the process ends', (_, script) => {
    const { status, lines } = run(`setInterval(() => {}, 1000); ${script}`);
    expect(status).toBe(1);
    const happened = expect.stringContaining('about https://files.example/1?…');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'ERROR', execution: 'daily-1', happened });
    expect(lines.join()).not.toContain('canary');
  });

  test('of the runtime about an uncaught error has no secret', () => {
    const runtime = `process.on('uncaughtException', ({ message, stack }) =>
      process.stdout.write(JSON.stringify({ message, stack })));`;
    const { lines } = run(`${runtime} setImmediate(() => { throw new Error('about ${SECRET}') })`);
    expect(lines.join()).toContain('about https://files.example/1?…');
    expect(lines.join()).not.toContain('canary');
  });
});

it('writes a metric as one line to stdout, bypassing the console that the runtime wraps', () => {
  const metrics = run("return { outcome: 'delivered', table_problem: 'x' }").lines.filter((text) =>
    text.includes('_aws'),
  );
  expect(metricsIn(metrics)).toEqual([
    {
      namespace: 'AdReportExport',
      name: 'TableProblems',
      unit: 'Count',
      value: 1,
      dimensions: { service: 'exports-test' },
      properties: { execution: 'daily-1', account: 'acme', export: 'daily', attempt: '2' },
    },
  ]);
});
