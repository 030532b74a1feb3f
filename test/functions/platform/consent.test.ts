import { expect, test } from 'vitest';
import { consentUrl } from '../../../functions/platform/consent.ts';

test('contract 4.2: the consent URL keeps the prefix of the base URL and has the five parameters', () => {
  const asked = {
    clientId: 'client 1',
    redirectUri: 'http://127.0.0.1:8910/callback?a=1',
    scope: 'reporting:read campaigns:read',
    state: 'a+b/c=',
  };
  const url = consentUrl({ baseUrl: 'https://ads.example/api/' }, asked);
  expect(url.origin + url.pathname).toBe('https://ads.example/api/oauth2/auth');
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: 'client 1',
    redirect_uri: 'http://127.0.0.1:8910/callback?a=1',
    response_type: 'code',
    scope: 'reporting:read campaigns:read',
    state: 'a+b/c=',
  });
  expect(url.search).not.toContain('+');
});
