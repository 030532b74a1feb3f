import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { MAIN, runCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';
import { RUNNING, startBucket, startExecutions } from './operated-executions.ts';
import { startDeployedAccount } from './support.ts';

const COMMAND = 'npm run export --';

/** The examples in a command's help. */
async function readExamples(command: string): Promise<string[]> {
  const { stdout } = await runCommand([command, '--help']);
  const [, examples = ''] = stdout.split('Examples:\n');
  return examples.split('\n').filter((line) => line.trim().startsWith(COMMAND));
}

/** Runs an example as a shell does. @param stdin for an example that reads no file */
async function runExample(example: string, cwd: string, stdin: string) {
  const line = example.replaceAll(COMMAND, `'${process.execPath}' '${MAIN}'`);
  const child = spawn('sh', ['-c', line], { cwd, stdio: 'pipe' });
  child.stdin.on('error', () => {}).end(stdin);
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { status, stderr };
}

const CREDENTIAL = '{"client_id":"id","client_secret":"secret"}';

it.each([
  ...['list', 'status', 'stop', 'explain', 'secret', 'completion'],
])('every example in the help of %s works', async (command) => {
  const { args, out } = await startCommandRun({ start_date: '2026-10-01', end_date: '2026-10-02' });
  const examples = await readExamples(command);
  if (examples.some((example) => example.includes('--local'))) await runCommand(args);
  const directory = dirname(out);
  await writeFile(join(directory, 'credential.json'), CREDENTIAL);
  await startDeployedAccount('');
  await startExecutions([{ ...RUNNING, windows: [] }]);
  await startBucket({}, directory);
  expect(examples).not.toEqual([]);
  for (const example of examples) {
    expect({ example, ...(await runExample(example, directory, CREDENTIAL)) }).toEqual({
      ...{ example, status: 0, stderr: '' },
    });
  }
});
