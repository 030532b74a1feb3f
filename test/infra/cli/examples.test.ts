import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { readConfig } from '../../../infra/config.ts';
import { MAIN, runCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';
import { deliver, openFolder } from './deliveries.ts';
import { deployTables } from './deployed-tables.ts';
import { NAME, RUNNING, startBucket, startExecutions } from './operated-executions.ts';
import { startStepFunctions } from './step-functions.ts';
import { startDeployedAccount, startPlatform, writeTemporary } from './support.ts';

const COMMAND = 'npm run export --';

/** The examples in a command's help. */
async function readExamples(command: string): Promise<string[]> {
  const { stdout } = await runCommand([command, '--help']);
  const [, examples = ''] = stdout.split('Examples:\n');
  return examples
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith(COMMAND));
}

/** A command that needs no shell, because it has neither quotes nor pipes nor files. */
const PLAIN = /^npm run export --(?: [\w@%+=:,./-]+)+$/;

const begun = new Set<string>();

/** Runs an example as a shell does: the first of each command and those that need it in a shell. @param stdin for an example that reads no file */
async function runExample(example: string, cwd: string, stdin: string) {
  const [, , , , command = ''] = example.split(' ');
  if (begun.has(command) && PLAIN.test(example)) {
    const { status, stderr } = await runCommand(example.split(' ').slice(4), stdin, cwd);
    return { status, stderr };
  }
  begun.add(command);
  const line = example.replaceAll(COMMAND, `'${process.execPath}' '${MAIN}'`);
  const child = spawn('sh', ['-c', line], { cwd, stdio: 'pipe' });
  child.stdin.on('error', () => {}).end(stdin);
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { status, stderr };
}

const CREDENTIAL = '{"client_id":"id","client_secret":"secret"}';

it('every example in the help of the commands that look at runs works', async () => {
  const { args, out } = await startCommandRun({ start_date: '2026-10-01', end_date: '2026-10-02' });
  await runCommand(args);
  const directory = dirname(out);
  await writeFile(join(directory, 'credential.json'), CREDENTIAL);
  await startDeployedAccount('');
  await startExecutions([{ ...RUNNING, windows: [] }]);
  await startBucket({}, directory);
  for (const command of ['list', 'status', 'explain', 'stop', 'secret', 'completion']) {
    const examples = await readExamples(command);
    expect(examples).not.toEqual([]);
    for (const example of examples) {
      expect({ example, ...(await runExample(example, directory, CREDENTIAL)) }).toEqual({
        ...{ example, status: 0, stderr: '' },
      });
    }
  }
});

it('every example in the help of the commands that run on this machine works, one after the other', async () => {
  const { directory } = await writeTemporary('spend.sql', 'SELECT sum(spend) FROM example');
  for (const command of ['run', 'plan', 'missing', 'curate', 'query']) {
    const examples = await readExamples(command);
    const local = examples.filter(
      (example) => example.includes('--local') || / query ("|--csv)/.test(example),
    );
    expect(local).not.toEqual([]);
    for (const example of local) {
      const { status, stderr } = await runExample(example, directory, '');
      expect({ example, status, stderr }).toMatchObject({ example, status: 0 });
    }
  }
});

it.each([
  'missing',
  'curate',
])('every example in the help of %s that needs a deployment works', async (command) => {
  const [{ name, account } = { name: '', account: '' }] = readConfig().exports;
  const folder = await openFolder();
  await deliver(folder, { name, account, days: [1, 1], created: 1 });
  const { cwd } = await deployTables(folder);
  const examples = (await readExamples(command)).filter((example) => !example.includes('--local'));
  expect(examples).not.toEqual([]);
  for (const example of examples) expect(await runExample(example, cwd, '')).toMatchObject({ status: 0 });
});

it('the example in the help of resume works', async () => {
  const input = JSON.stringify(RUNNING.input);
  const output = JSON.stringify({ version: '1', windows: [], bucket: 'b', bytes: 0, warnings: [] });
  await startStepFunctions(
    { status: 'SUCCEEDED', output },
    { polls: 0, earlier: { [NAME]: { status: 'FAILED', input } } },
  );
  const directory = await startBucket({});
  const [example = ''] = await readExamples('resume');
  expect(await runExample(example, directory, '')).toMatchObject({ status: 0 });
});

it('the example in the help of doctor that needs no deployment works', async () => {
  const { sandbox, directory } = await startPlatform();
  const [example = ''] = (await readExamples('doctor')).filter((one) => one.includes('--local'));
  const line = example.replace('http://127.0.0.1:8080', sandbox.baseUrl);
  expect(await runExample(line, directory, '')).toMatchObject({ status: 0 });
});
