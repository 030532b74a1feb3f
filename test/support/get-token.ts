import type { Token } from '../../functions/platform/oauth.ts';
import type { CachedToken, CachedTokens } from '../../functions/token/cached-tokens.ts';
import type { Credential, OAuthCredential } from '../../functions/token/credential.ts';
import { keepLog, stoppedClock, windowOf } from './steps.ts';

const BASE_URL = 'https://api.example.com/v1';

/** The dependencies of GetToken: secrets in memory, a token endpoint that counts, and a stopped clock. */
export function startGetToken(options: { failure?: Error; now?: string } = {}) {
  const clock = stoppedClock(options.now);
  const versions: CachedTokens[] = [];
  const asked: { refresh_token: string | undefined; scope: string | undefined }[] = [];
  const rotations: string[] = [];
  let credential: Credential = { client_id: 'client', client_secret: 'canary-secret' };
  let credentialVersion = 1;
  let beforeReplacing = () => {};
  const setCredential = (next: Credential) => {
    credential = next;
    credentialVersion += 1;
  };
  let issued = 0;
  const { lines, log } = keepLog();
  const dependencies = {
    log,
    now: clock.now,
    baseUrl: BASE_URL,
    // The lease is always free.
    objects: { putJson: async () => true, getTagged: async () => undefined },
    credentialOf: () => ({
      read: async () => ({ text: JSON.stringify(credential), version: `c${credentialVersion}` }),
      async write(text: string) {
        beforeReplacing();
        setCredential(JSON.parse(text));
      },
    }),
    tokens: {
      async read(_: string, version = `v${versions.length}`) {
        const tokens = versions[Number(version.slice(1)) - 1];
        return tokens && { version, tokens };
      },
      async readToken(): Promise<CachedToken> {
        throw new Error('GetToken never reads a token to use it');
      },
      async write(_: string, tokens: CachedTokens) {
        versions.push(tokens);
        return `v${versions.length}`;
      },
    },
    async requestToken({ refresh_token }: OAuthCredential, scope: string | undefined): Promise<Token> {
      asked.push({ refresh_token, scope });
      if (options.failure) throw options.failure;
      issued += 1;
      const rotated = rotations.shift();
      return {
        accessToken: `canary-token-${issued}`,
        expiresIn: 3600,
        ...(rotated && { refreshToken: rotated }),
      };
    },
  };
  const { token: _, ...window } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
  return {
    clock,
    dependencies,
    lines,
    versions,
    window,
    asked,
    rotations,
    issued: () => issued,
    credential: () => credential,
    setCredential,
    beforeReplacing: (action: () => void) => {
      beforeReplacing = action;
    },
  };
}
