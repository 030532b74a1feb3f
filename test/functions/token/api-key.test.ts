import { describe, expect, it } from 'vitest';
import { apiKeyDaysLeft, apiKeyWarning, requireApiKeyAllowed } from '../../../functions/token/api-key.ts';
import { CredentialUnusable, readMessage } from '../../../functions/workflow/errors.ts';

const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';
const SUNSET = new Date('2027-01-01T00:00:00Z');
const BEFORE = new Date(SUNSET.getTime() - 1);

describe('39: an API key (contract 5.7, 9.6)', () => {
  it.each([
    ['2026-12-30T00:00:00.000Z', 2, 'disables on 2027-01-01: 2 days are left'],
    ['2026-12-30T00:00:00.001Z', 2, 'disables on 2027-01-01: 2 days are left'],
    ['2026-12-31T00:00:00.000Z', 1, 'disables on 2027-01-01: 1 day is left'],
    ['2026-12-31T23:59:59.999Z', 1, 'disables on 2027-01-01: 1 day is left'],
    ['2027-01-01T00:00:00.000Z', 0, 'has disabled on 2027-01-01'],
    ['2027-01-03T00:00:00.000Z', -2, 'has disabled on 2027-01-01'],
  ])('is warned of with what is left of it: at %s, %i days', (at, days, what) => {
    const now = new Date(at);
    expect(apiKeyDaysLeft(now) + 0).toBe(days);
    expect(apiKeyWarning('acme', now)).toBe(
      `account acme uses an API key, which the platform ${what}. ${INSTEAD}`,
    );
  });

  it('is taken for reports and purchases up to the last millisecond of 2026', () => {
    for (const kind of ['report', 'purchases']) {
      expect(() => requireApiKeyAllowed('acme', kind, BEFORE)).not.toThrow();
    }
  });

  it.each([
    ['report', SUNSET, 'which the platform has disabled on 2027-01-01'],
    ['purchases', SUNSET, 'which the platform has disabled on 2027-01-01'],
    ['list', SUNSET, 'which the platform has disabled on 2027-01-01'],
    ['list', BEFORE, 'which works for reports and purchases alone and not for lists'],
  ])('is refused for a %s at %s, with the reason', (kind, now, why) => {
    const refused = refusal(() => requireApiKeyAllowed('acme', kind, now));
    const happened = `Account acme uses an API key, ${why}. ${INSTEAD}`;
    expect(readMessage(refused.message)).toEqual({ happened, facts: { account: 'acme' } });
  });
});

function refusal(work: () => void): CredentialUnusable {
  try {
    work();
  } catch (error) {
    if (error instanceof CredentialUnusable) return error;
    throw error;
  }
  throw new Error('It was taken.');
}
