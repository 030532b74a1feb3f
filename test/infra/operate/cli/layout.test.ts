import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { alignColumns, printLines } from '../../../../infra/operate/cli/layout.ts';
import { UsageError } from '../../../../infra/operate/place/errors.ts';

it('text from elsewhere moves no cursor and reverses no writing', () => {
  const screen = new PassThrough({ encoding: 'utf8' });
  printLines(['Not \u001b[2J(r\u009b1, \u202er2).', 'a\nb\tc: no'], screen);
  expect(screen.read()).toBe('Not  [2J(r 1,  r2).\na b c: no\n');
  const { message } = new UsageError(['\u001b[2Ja: is not a field', 'b']);
  expect(message).toBe('error:  [2Ja: is not a field\nerror: b');
});

it('columns are aligned as a terminal shows them', () => {
  const names = ['name', '春の新作', '한글', '😀', 'E\u0301te\u0301'];
  expect(alignColumns(names.map((name) => [name, '1', '12']))).toEqual([
    'name      1  12',
    '春の新作  1  12',
    '한글      1  12',
    '😀        1  12',
    'E\u0301te\u0301       1  12',
  ]);
});
