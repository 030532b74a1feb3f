import { expect, it } from 'vitest';
import {
  explainCommand,
  exportDaysCommand,
  repeatCommand,
  resumeCommand,
} from '../../../infra/cli/next-command.ts';

it.each([
  [['run', '--local', '--speed', '300'], 'npm start -- --speed 300 --only-missing'],
  [['run', '--local', '--only-missing', '--out', 'o'], 'npm start -- --out o --only-missing'],
  [
    ['run', 'daily', '--local', '--out', "it's here", '--input', '$(x)'],
    String.raw`npm run export -- run daily --local --out 'it'\''s here' --input '$(x)' --only-missing`,
  ],
])('the command %j is repeated for the missing windows, quoted for the shell', (args, expected) => {
  expect(repeatCommand({ onlyMissing: true }, args)).toBe(expected);
});

it('an execution of another state machine is resumed there', () => {
  expect(resumeCommand('daily-1')).toBe('npm run export -- resume daily-1');
  expect(resumeCommand('daily-1', 'arn:x')).toBe('npm run export -- resume daily-1 --state-machine arn:x');
});

it('a local run is explained in its folder', () => {
  expect(explainCommand('daily-1')).toBe('npm run export -- explain daily-1');
  expect(explainCommand('daily-1', { local: true, out: 'out' })).toBe(
    'npm run export -- explain daily-1 --local',
  );
  expect(explainCommand('daily-1', { local: true, out: 'o 2' })).toBe(
    "npm run export -- explain daily-1 --local --out 'o 2'",
  );
});

it.each([
  ['daily', { out: 'out', isConfigured: true }, 'npm run export -- run daily'],
  ['daily', { local: true, out: 'o', isConfigured: true }, 'npm run export -- run daily --local --out o'],
  ['daily', { out: 'out', isConfigured: true, account: 'a' }, 'npm run export -- run daily --account a'],
  ['daily', { local: true, out: 'o', isConfigured: false }, 'npm start -- --input REQUEST.json --out o'],
  ['example', { local: true, out: 'out', isConfigured: false }, 'npm start --'],
] as const)('the missing days of %s are exported from where its request is: %j', (name, place, expected) => {
  const range = { start_date: '2026-10-01', end_date: '2026-10-08' };
  expect(exportDaysCommand(name, range, place)).toBe(
    `${expected} --from 2026-10-01 --to 2026-10-08 --only-missing`,
  );
});
