import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import * as z from 'zod/mini';
import { parseJson } from '../../../../functions/workflow/json.ts';
import type { AccessTokens } from '../platform-state.ts';
import type { Credential } from '../sandbox-options.ts';

/** What a token says. Its credential is the only one of the host. */
const Claims = z.object({ scopes: z.array(z.string()), expires_at: z.number() });

/**
 * Access tokens that nobody keeps: each says what it allows, and is signed. The key is made from the client
 * secret, which a client of the sandbox has anyway: it could get the same token by asking.
 */
export function createSignedTokens(credential: Credential, now: () => number): AccessTokens {
  const key = Buffer.from(
    hkdfSync('sha256', credential.clientSecret, '', 'access tokens of the sandbox', 32),
  );
  const sign = (claims: string) => createHmac('sha256', key).update(claims).digest();
  return {
    issue({ scopes }, expiresAt) {
      const claims: z.infer<typeof Claims> = { scopes: [...scopes], expires_at: expiresAt };
      const encoded = Buffer.from(JSON.stringify(claims)).toString('base64url');
      return `sbx_at_${encoded}.${sign(encoded).toString('base64url')}`;
    },
    read(token) {
      const [, encoded = '', signature = ''] = /^sbx_at_([\w-]+)\.([\w-]+)$/.exec(token) ?? [];
      const sent = Buffer.from(signature, 'base64url');
      const expected = sign(encoded);
      if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
      const { data } = Claims.safeParse(parseJson(Buffer.from(encoded, 'base64url').toString()));
      return data && now() < data.expires_at ? { credential, scopes: data.scopes } : undefined;
    },
  };
}
