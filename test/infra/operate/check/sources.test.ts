import { describe, expect, it } from 'vitest';
import {
  compareSources,
  type SourceValues,
  type Statement,
} from '../../../../infra/operate/check/sources.ts';

const DAY = { start_date: '2026-10-02', end_date: '2026-10-03' };

function state(values: SourceValues, more: Partial<Statement> = {}): Statement {
  return { ...DAY, metric: 'spend', values, days: ['2026-10-02'], ...more };
}

describe('the sources of a value', () => {
  it('agree without a difference and a day', () => {
    const { differences, days } = compareSources([state({ file: '1', table: '1', ledger: '1' })]);
    expect({ differences, days: [...days] }).toEqual({ differences: [], days: [] });
  });

  it('are trusted in one order, whatever the order of the values', () => {
    const { differences } = compareSources([state({ ledger: '3', table: '2', file: '1' })]);
    expect(differences).toMatchObject([
      { values: { file: '1', table: '2' }, mend: 'run' },
      { values: { file: '1', ledger: '3' }, mend: 'run' },
    ]);
  });

  it('are compared with the next one that knows the value, if the file does not', () => {
    const { differences } = compareSources([state({ platform: '9', table: '2' })]);
    expect(differences).toMatchObject([{ values: { table: '2', platform: '9' } }]);
  });

  it('are mended by rebuild if only the ledger has none', () => {
    const { differences } = compareSources([state({ file: '1', table: '1', ledger: null })]);
    expect(differences).toMatchObject([{ values: { file: '1', ledger: null }, mend: 'rebuild' }]);
  });

  it('are mended as their statement says', () => {
    const behind = state({ manifest: 'delivered', table: null }, { metric: 'report', mend: 'rebuild' });
    expect(compareSources([behind]).differences).toMatchObject([{ metric: 'report', mend: 'rebuild' }]);
  });

  it('of a file that differs are those of the days that show it', () => {
    const days = ['2026-10-02', '2026-10-04'];
    const compared = compareSources([state({ file: '1', manifest: '2' }, { days }), state({ file: '1' })]);
    expect([...compared.days]).toEqual(days);
  });
});
