import { expect, it } from 'vitest';
import {
  explainCommand,
  exportDaysCommand,
  type LocalFolder,
  type NamedExport,
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

it.each<[NamedExport, LocalFolder, string]>([
  [{ name: 'daily' }, { out: 'out' }, 'npm run export -- run daily'],
  [{ name: 'daily' }, { local: true, out: 'o' }, 'npm run export -- run daily --local --out o'],
  [{ name: 'daily', account: 'a' }, { out: 'out' }, 'npm run export -- run daily --account a'],
  [{ name: 'daily', input: 'o/r.json' }, { local: true, out: 'o' }, 'npm start -- --input o/r.json --out o'],
])('the missing days of %j are exported from where its request is: %j', (named, folder, expected) => {
  const range = { start_date: '2026-10-01', end_date: '2026-10-08' };
  const dates = '--from 2026-10-01 --to 2026-10-08';
  expect(exportDaysCommand(named, range, folder)).toBe(`${expected} ${dates} --only-missing`);
  expect(exportDaysCommand({ ...named, takesOver: true }, range, folder)).toBe(
    `${expected} ${dates} --only-missing --take-over`,
  );
});
