import { expect, it } from 'vitest';
import { repeatCommand } from '../../../infra/knowledge/next-command.ts';

it.each([
  [['run', '--local', '--speed', '300'], 'npm run export -- run --local --speed 300 --only-missing'],
  [['run', '--daily', '30', '--daily=9'], 'npm run export -- run --daily 7 --daily=7 --only-missing'],
  [['run', '--input', '-'], 'npm run export -- run --input - --only-missing < request.json'],
  [['run', '--local', '--only-missing'], 'npm run export -- run --local --only-missing'],
  [
    ['run', 'daily', '--local', '--out', "it's here", '--input', '$(x)'],
    String.raw`npm run export -- run daily --local --out 'it'\''s here' --input '$(x)' --only-missing`,
  ],
])('the command %j is repeated for the missing windows, quoted for the shell', (args, expected) => {
  expect(repeatCommand(7, args)).toBe(expected);
});
