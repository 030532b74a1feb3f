import { describe, expect, it } from 'vitest';
import { listValidation } from '../../../functions/platform/validation.ts';

function sentencesOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `sentence ${at}`);
}

describe('failures of validation (contract 7.1)', () => {
  it('are all shown up to 50, and counted from there', () => {
    expect(listValidation(sentencesOf(50))).toEqual(sentencesOf(50));
    expect(listValidation(sentencesOf(51))).toEqual([...sentencesOf(50), 'and 1 more']);
  });

  it('are cut after 300 characters, the field’s name among them', () => {
    const most = 'x'.repeat(300);
    expect(listValidation([most, `${most}y`])).toEqual([most, most]);
    expect(listValidation({ end: `${most}y` })).toEqual([`end: ${'x'.repeat(295)}`]);
  });

  it('are none where nothing is said: null, no text, an empty list, an empty object', () => {
    for (const nothing of [undefined, null, '', [], {}]) {
      expect(listValidation(nothing)).toEqual([]);
      expect(listValidation({ metrics: nothing })).toEqual([]);
      expect(listValidation([nothing, 'too late', nothing])).toEqual(['too late']);
    }
  });

  it('are what else JSON has, too: 0 and false say something', () => {
    expect(listValidation({ limit: 0, metrics: false })).toEqual(['limit: 0', 'metrics: false']);
    expect(listValidation([0, false])).toEqual(['0', 'false']);
  });

  it('have their field before their message only where both are texts', () => {
    expect(
      listValidation([
        { field: 'end_date', message: 'too late' },
        { field: 'end_date', message: 7 },
        { field: 7, message: 'too late' },
        { field: 'end_date' },
      ]),
    ).toEqual([
      ...['end_date: too late', 'field: end_date', 'message: 7'],
      ...['field: 7', 'message: too late', 'field: end_date'],
    ]);
  });

  it('have the way to their field, list by list and object by object', () => {
    const filters = [{ field: 'campaign', message: 'unknown' }, { spend: ['too low', { min: 'missing' }] }];
    expect(listValidation({ options: { filters } })).toEqual([
      'options.filters.campaign: unknown',
      'options.filters.spend: too low',
      'options.filters.spend.min: missing',
    ]);
  });

  it('are seen 20 levels down, and no deeper', () => {
    const listed = (depth: number) => JSON.parse(`${'['.repeat(depth)}"wrong"${']'.repeat(depth)}`);
    const named = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}"wrong"${'}'.repeat(depth)}`);
    expect([listValidation(listed(20)), listValidation(listed(21))]).toEqual([['wrong'], []]);
    const path = Array.from({ length: 20 }, () => 'a').join('.');
    expect([listValidation(named(20)), listValidation(named(21))]).toEqual([[`${path}: wrong`], []]);
  });
});
