import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const SECRET = 'https://files.example/1?signature=canary';

/** A process in which this runs after everything else was made to log. */
function run(script: string) {
  const modules = ['log-all-else', 'logger'].map(
    (name) => `${import.meta.dirname}/../../../functions/aws/${name}.ts`,
  );
  const preamble = `
    const { logAllElse } = await import('${modules[0]}');
    const { openLogger } = await import('${modules[1]}');
    const log = openLogger();
    log.setKeys({ execution: 'daily-1' });
    logAllElse(log);
  `;
  const args = ['--input-type=module', '-e', preamble + script];
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
}

/** What it writes. */
function linesOf(script: string) {
  const { stdout, stderr } = run(script);
  return [stdout, stderr].flatMap((text) => text.split('\n').filter(Boolean)).map((text) => JSON.parse(text));
}

test.each([
  ['a library on the console', `console.warn('about %s', '${SECRET}', { a: 1 })`, 'WARN'],
  ['more than a line of it', `console.log('one\\ntwo ${SECRET}')`, 'INFO'],
  ["a warning of Node's", `process.emitWarning('about ${SECRET}', 'DeprecationWarning')`, 'WARN'],
  ['an error that nobody caught', `setImmediate(() => { throw new Error('about ${SECRET}') })`, 'ERROR'],
  ['a promise that nobody waited for', `Promise.reject(new Error('about ${SECRET}'))`, 'ERROR'],
])('what %s writes is one JSON line with the ids, and without the secret', (_, script, level) => {
  const lines = linesOf(script);
  expect(lines).toMatchObject([{ level, execution: 'daily-1' }]);
  expect(JSON.stringify(lines)).toContain('https://files.example/1?…');
  expect(JSON.stringify(lines)).not.toContain('canary');
});

test('a field that is named like a secret is hidden, but for the code of a failed connection', () => {
  const fields = { access_token: 'canary', code: 'canary', failed: { code: 'ECONNRESET' } };
  const [line] = linesOf(`log.info('seen', ${JSON.stringify(fields)})`);
  expect(line).toMatchObject({ access_token: '…', code: '…', failed: { code: 'ECONNRESET' } });
});

test('text that a server made long is cut, and costs no time', () => {
  const [line] = linesOf(`log.warn('seen', { status: 'https://'.repeat(130_000) + '${SECRET}' })`);
  expect(line.status).toHaveLength(10_000);
  expect(line.status).toMatch(/^https:.*…$/);
});

test.each([
  ['an error that nobody caught', "setImmediate(() => { throw new Error('late') })"],
  ['a promise that nobody waited for', "Promise.reject(new Error('late'))"],
  ['one that was refused with no error', "Promise.reject('late')"],
])('%s ends the process, as it would if nobody listened', (_, script) => {
  const { status, stdout, stderr } = run(`setInterval(() => {}, 1000); ${script}`);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({ level: 'ERROR', happened: expect.stringContaining('late') });
});

test('what the runtime prints of an error that nobody caught has no secret either', () => {
  const runtime = `process.on('uncaughtException', ({ message, stack }) =>
    process.stdout.write(JSON.stringify({ message, stack })));`;
  const lines = linesOf(`${runtime} setImmediate(() => { throw new Error('about ${SECRET}') })`);
  expect(lines).toHaveLength(2);
  expect(JSON.stringify(lines)).not.toContain('canary');
});
