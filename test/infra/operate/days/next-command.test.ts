import { expect, it } from 'vitest';
import { commandFor, exportDaysCommand } from '../../../../infra/operate/days/next-command.ts';

const ID = { account: 'acme', name: 'daily' };
const RANGE = { start_date: '2026-10-01', end_date: '2026-10-05' };

it('a command is quoted for the shell, and leaves out what is not set and the default folder', () => {
  const options = { input: '$(x)', json: true, again: false, account: undefined };
  expect(commandFor(['run', "it's"], options, { local: true, out: 'here & there' })).toBe(
    String.raw`npm run export -- run 'it'\''s' --input '$(x)' --json --local --out 'here & there'`,
  );
  expect(commandFor(['status'], {}, { local: true, out: 'out' })).toBe('npm run export -- status --local');
});

it('a list is exported as it is now, so its command has no days', () => {
  const exportDays = (kind: 'report' | 'list') =>
    exportDaysCommand({ ...ID, kind }, RANGE, { local: true, out: 'out' }, true);
  expect(exportDays('report')).toBe(
    'npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-05 --only-missing --local',
  );
  expect(exportDays('list')).toBe('npm run export -- run daily --account acme --local');
});
