import { describe, expect, it } from 'vitest';
import { formatAmount, parseAmount } from '../../../../infra/operate/check/exact-amounts.ts';
import { readMart } from '../../../../infra/operate/check/read-mart.ts';

const METRICS = ['spend', 'clicks'];

/** @param columns names with their types, such as `spend double` */
function read(columns: readonly string[], rows: readonly (readonly unknown[])[]) {
  const described = columns.map((column) => {
    const [name = '', type = 'decimal(18,6)'] = column.split(' ');
    return { name, type };
  });
  const pieces = async function* () {
    yield rows;
  };
  return readMart({ columns: described, rows: pieces() }, METRICS);
}

async function sumOf(type: string, values: readonly unknown[]) {
  const rows = values.map((value) => ['2026-10-01', value]);
  const [day] = (await read(['date', `spend ${type}`], rows)).days;
  const sum = day?.sums.get('spend');
  return sum && { sum: formatAmount(sum.units), rounding: sum.rounding, noise: sum.noise };
}

const unitsOf = (text: string) => Number(parseAmount(text));

describe('the sums of a mart', () => {
  it('add up the rows of a day, and keep every digit', async () => {
    expect(await sumOf('decimal(38,6)', ['900000000000.000001', '0.000001'])).toMatchObject({
      sum: '900000000000.000002',
    });
  });

  it('are of each account if there is such a column, whatever its case', async () => {
    const rows = [
      ['2026-10-01', 'acme', '1'],
      ['2026-10-01', 'globex', '2'],
    ];
    const { days, hasAccounts } = await read(['Date', 'ACCOUNT', 'Spend'], rows);
    expect(hasAccounts).toBe(true);
    expect(days.map(({ account }) => account)).toEqual(['acme', 'globex']);
  });

  it('may be wrong by half a unit of the last digit for each value that is there', async () => {
    const { rounding } = (await sumOf('decimal(18,6)', ['1.25', null, '2.500000', null])) ?? {};
    expect(rounding).toBe(2 * unitsOf('0.005'));
  });

  it.each([
    'bigint',
    'decimal(18,6)',
    'double',
    'untyped',
  ])('of whole numbers in a column of type %s may not be wrong', async (type) => {
    expect(await sumOf(type, ['1', '2.000000', null])).toMatchObject({ rounding: 0, noise: 0 });
  });

  it('of doubles have the digits that a person sees', async () => {
    const { rounding, noise = 0 } = (await sumOf('double', [64.35000000000001])) ?? {};
    expect(rounding).toBe(unitsOf('0.005'));
    expect(noise).toBeGreaterThan(0);
    expect(noise).toBeLessThan(unitsOf('0.0001'));
  });

  it('leave out a column that is no metric, such as a misspelt one, and name it', async () => {
    const { left_out, metrics } = await read(['date', 'spned', 'clicks'], []);
    expect({ left_out, metrics }).toEqual({ left_out: ['spned'], metrics: ['clicks'] });
  });
});

describe('a day of a mart', () => {
  it.each([
    '2026-10-01',
    '2026-10-01 00:00:00',
    '2026-10-01 00:00:00.000 UTC',
    '2026-10-01 00:00:00+00',
  ])('may be %s', async (date) => {
    const { days } = await read(['date', 'spend'], [[date, '1']]);
    expect(days[0]?.date).toBe('2026-10-01');
  });

  it.each([
    '2026-10-01 06:00:00',
    '01.10.2026',
    '2026-02-30',
    '20261001',
    null,
    20261001,
    '2026-10-01 00:00:00+02',
  ])('may not be %j', async (date) => {
    const rows = [
      ['2026-10-01', '1'],
      [date, '1'],
    ];
    await expect(read(['date', 'spend'], rows)).rejects.toThrow(/^error: row 2 has .* as its date/);
  });
});

describe('a mart that cannot be compared', () => {
  it('has every fault of its rows named', async () => {
    const rows = [
      ['2026-10-01', 'x'],
      ['yesterday', '1'],
    ];
    await expect(read(['date', 'spend'], rows)).rejects.toMatchObject({
      faults: [
        'row 1 has "x" in spend, where a number belongs',
        'row 2 has "yesterday" as its date, where a day belongs, such as 2026-10-01',
      ],
    });
  });

  it('has many faults of its rows named in part', async () => {
    const rows = Array.from({ length: 30 }, () => ['x', '1']);
    const faults = await read(['date', 'spend'], rows).catch((error) => error.faults);
    expect(faults).toHaveLength(11);
    expect(faults.at(-1)).toBe('20 faults more');
  });

  it.each(['NaN', 'Infinity', true, '1,5', ''])('has %j where a number belongs', async (value) => {
    const reading = read(['date', 'spend double'], [['2026-10-01', value]]);
    await expect(reading).rejects.toThrow('where a number belongs');
  });

  it('has a row without an account', async () => {
    const reading = read(['date', 'account', 'spend'], [['2026-10-01', null, '1']]);
    await expect(reading).rejects.toThrow('row 1 has no account');
  });

  it('has no columns, as an empty file', async () => {
    await expect(read([], [])).rejects.toThrow('the mart has no column date; it has no column');
  });

  it('lacks a date and a metric, or has a column twice', async () => {
    await expect(read(['day', 'cost'], [])).rejects.toMatchObject({
      faults: [
        'the mart has no column date; it has day, cost',
        'the mart has no metric of the table that adds up: it has day, cost, and the metrics are spend, clicks',
      ],
    });
    await expect(read(['date', 'spend', 'SPEND'], [])).rejects.toMatchObject({
      faults: ['the mart has two columns spend'],
    });
  });
});

describe('an amount', () => {
  it.each([
    ['1e3', '1000'],
    ['-0.5', '-0.5'],
    ['.25', '0.25'],
    ['0.00000000004', '0'],
    ['12345678901234567890.0000000001', '12345678901234567890.0000000001'],
  ])('%s is %s', (text, expected) => {
    expect(formatAmount(parseAmount(text) ?? 7n)).toBe(expected);
  });

  it.each(['', 'x', '1e999', '0x10', '--1', '1_000'])('%j is none', (text) => {
    expect(parseAmount(text)).toBeUndefined();
  });
});
