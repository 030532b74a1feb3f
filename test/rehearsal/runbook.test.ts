import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readRunbook, replacePlaceholder } from './runbook.ts';

const MARKDOWN = [
  'Paste this:\n\n```sh\nSTACK=a\n```\n\nand\n\n```sh\nEXECUTION=b\n```\n',
  'Look at `aws s3 rm "s3://$BUCKET/OBJECT"`, `npm run export -- status` and `logs \'{ $.DaysHeld > 0 }\' 72`.',
  '\n```sh\naws cloudwatch describe-alarms \\\n  --state-value ALARM\n```\nAgain `aws s3 rm "s3://$BUCKET/OBJECT"`',
].join('\n');

it('the calls of a runbook are the lines of its blocks and its code in sentences, each once', () => {
  const { setup, commands } = readRunbook(MARKDOWN);
  expect(setup).toBe('STACK=a\nEXECUTION=b\n');
  expect(commands).toEqual([
    { call: 'cloudwatch describe-alarms', line: 'aws cloudwatch describe-alarms    --state-value ALARM' },
    { call: 's3 rm', line: 'aws s3 rm "s3://$BUCKET/OBJECT"' },
    { call: 'logs', line: "logs '{ $.DaysHeld > 0 }' 72" },
  ]);
});

it('reads every call of AWS that the runbook writes', () => {
  const runbook = readFileSync(new URL('../../infra/RUNBOOK.md', import.meta.url), 'utf8');
  const { setup, commands } = readRunbook(runbook);
  const read = setup + commands.map(({ line }) => line).join('\n');
  const callsIn = (text: string) =>
    [...text.matchAll(/aws ([a-z0-9]+ [a-z][a-z-]+)/g)].map(([, call]) => call);
  expect([...new Set(callsIn(read))].toSorted()).toEqual([...new Set(callsIn(runbook))].toSorted());
});

it('a placeholder is replaced where it is a word, and must be there', () => {
  const line = 'aws s3api copy-object --key OBJECT --copy-source "$BUCKET/OBJECT?versionId=ID"';
  const written = replacePlaceholder(replacePlaceholder(line, 'OBJECT', 'a/b'), 'ID', 'v$1');
  expect(written).toBe('aws s3api copy-object --key a/b --copy-source "$BUCKET/a/b?versionId=v$1"');
  expect(() => replacePlaceholder(line, 'ARN', 'x')).toThrow('no ARN');
});
