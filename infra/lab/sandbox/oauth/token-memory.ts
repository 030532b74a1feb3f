import type { AccessTokens, Grant } from '../platform-state.ts';
import { randomToken } from './tokens.ts';

/** Access tokens that end with this process, or with `clear`. */
export function createTokenMemory(now: () => number) {
  const tokens = new Map<string, { readonly grant: Grant; readonly expiresAt: number }>();
  return {
    issue(grant, expiresAt) {
      const token = randomToken('at');
      tokens.set(token, { grant, expiresAt });
      return token;
    },
    read(token) {
      const issued = tokens.get(token);
      return issued && now() < issued.expiresAt ? issued.grant : undefined;
    },
    clear: () => tokens.clear(),
  } satisfies AccessTokens & { clear(): void };
}
