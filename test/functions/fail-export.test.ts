import { describe, expect, it } from 'vitest';
import { failExport, handler } from '../../functions/fail-export.ts';

const failure = { error: 'RequestRefused', happened: 'The platform said "no".', execution: 'daily-1' };
const request = { name: 'daily', account: 'acme' };

describe('FailExport', () => {
  it('throws the card: its error as the name, the whole of it as the message', async () => {
    const state = { failure, redrives_before: 1, redrives: 1, input: request };
    const thrown = await handler({ state }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Error);
    const { name, message, stack } = thrown as Error;
    expect([name, JSON.parse(message), stack]).toEqual(['RequestRefused', failure, 'RequestRefused']);
  });

  it.each([
    ['a request', request, { ...request, only_missing: true }],
    ['what was no request', 'nonsense', 'nonsense'],
  ])('30: after a redrive it gives on %s, for the windows that are missing', async (_, input, expected) => {
    expect(await failExport({ failure, redrives_before: 1, redrives: 2, input })).toEqual(expected);
  });
});
