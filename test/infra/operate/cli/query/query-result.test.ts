import { describe, expect, it } from 'vitest';
import {
  formatCsv,
  formatJson,
  formatTable,
  type QueryResult,
  type Value,
} from '../../../../../infra/operate/cli/query/result.ts';

describe('the formats', () => {
  const RESULT = {
    columns: [
      { name: 'name', type: 'VARCHAR' },
      { name: 'spend', type: 'DECIMAL(18,6)' },
      { name: 'spend', type: 'double' },
    ],
    rows: [
      ['a,"b"\nc', '12.500000', 1],
      ['', null, null],
    ] as Value[][],
    notes: [],
  };

  /** Sends each row as a piece of its own. */
  const format = async (to: (result: QueryResult) => AsyncIterable<string>, rows = RESULT.rows) => {
    async function* pieces() {
      for (const row of rows) yield [row];
    }
    return (await Array.fromAsync(to({ ...RESULT, rows: pieces() }))).join('');
  };

  it('align numbers to the right in a table, and let no text move the cursor', async () => {
    expect(await format(formatTable)).toBe(
      ['name     spend  spend', 'a,"b" c   12.5      1', '          NULL   NULL', ''].join('\n'),
    );
  });

  it('keep every column in JSON, also if two have the same name', async () => {
    expect(JSON.parse(await format(formatJson))).toEqual({
      columns: [
        { name: 'name', type: 'VARCHAR' },
        { name: 'spend', type: 'DECIMAL(18,6)' },
        { name: 'spend_2', type: 'double' },
      ],
      rows: [
        { name: 'a,"b"\nc', spend: '12.500000', spend_2: 1 },
        { name: '', spend: null, spend_2: null },
      ],
    });
  });

  it('tell NULL from an empty text in CSV', async () => {
    expect(await format(formatCsv)).toBe('\uFEFFname,spend,spend\r\n"a,""b""\nc",12.5,1\r\n"",,\r\n');
  });

  it.each([
    ['863103.0000000000', '863103'],
    ['10395.4982310000', '10395.498231'],
    ['-0.0017050000', '-0.001705'],
    ['0.0000000000', '0'],
    ['1200', '1200'],
  ])('write the decimal %s as %s in a table and in CSV, and unchanged in JSON', async (decimal, text) => {
    const rows = [['a', decimal, 1]];
    expect(await format(formatTable, rows)).toMatch(new RegExp(`^a +${text} +1$`, 'm'));
    expect(await format(formatCsv, rows)).toContain(`\r\na,${text},1\r\n`);
    expect(JSON.parse(await format(formatJson, rows)).rows[0].spend).toBe(decimal);
  });

  it('have no formula in CSV', async () => {
    const rows = ['=a', '+1', '@a', '-2', '-1.50', '\tx', '\n=', 'a=b'].map((text) => [text, '-0.5e-7', -1]);
    expect((await format(formatCsv, rows)).split('\r\n').map((line) => line.split(',')[0])).toEqual([
      ...['\uFEFFname', `"'=a"`, `"'+1"`, `"'@a"`, '-2', '-1.50', `"'\tx"`, `"'\n="`, 'a=b', ''],
    ]);
    expect(await format(formatCsv, [['a', '-0.5e-7', -1]])).toMatch(/\na,-0.5e-7,-1\r\n$/);
  });
});
