import { describe, expect, it } from 'vitest';
import { getToken } from '../../functions/get-token.ts';
import { CredentialUnusable, errors, ServiceUnavailable } from '../../functions/workflow/errors.ts';
import { startGetToken as start } from '../support/get-token.ts';

describe('2: a credential that the platform refused', () => {
  const clientRevoked = () => {
    const failure = new CredentialUnusable('It was revoked.', { status: 401, request_id: 'r-1' });
    const started = start({ failure });
    const { reports: _, ...plan } = started.window;
    return { ...started, plan };
  };
  const failed = { name: 'CredentialUnusable', facts: { status: 401, request_id: 'r-1' } };

  it('is requested again by a new export, and usable again once a token is issued', async () => {
    const { dependencies, window, plan, asked, issued } = clientRevoked();
    await expect(getToken(window, dependencies)).rejects.toMatchObject(failed);
    await expect(getToken(plan, dependencies)).rejects.toMatchObject(failed);
    expect(asked).toHaveLength(2);
    const accepted = { ...dependencies, requestToken: start().dependencies.requestToken };
    const { token } = await getToken(plan, accepted);
    expect(await getToken(window, dependencies)).toMatchObject({ token });
    expect({ asked: asked.length, issued: issued() }).toEqual({ asked: 2, issued: 0 });
  });

  it('is requested again once another credential is stored', async () => {
    const { dependencies, window, asked, setCredential } = clientRevoked();
    await expect(getToken(window, dependencies)).rejects.toMatchObject(failed);
    setCredential({ client_id: 'client', client_secret: 'canary-corrected' });
    await expect(getToken(window, dependencies)).rejects.toMatchObject(failed);
    await expect(getToken(window, dependencies)).rejects.toMatchObject(failed);
    expect(asked).toHaveLength(2);
  });

  it('is cached once, however many exports use it: a secret has room for about 100 versions a day', async () => {
    const { dependencies, plan, versions, asked, setCredential } = clientRevoked();
    for (const _ of [1, 2, 3]) await expect(getToken(plan, dependencies)).rejects.toMatchObject(failed);
    expect({ asked: asked.length, versions: versions.length }).toEqual({ asked: 3, versions: 1 });
    setCredential({ client_id: 'client', client_secret: 'canary-corrected' });
    for (const _ of [1, 2]) await expect(getToken(plan, dependencies)).rejects.toMatchObject(failed);
    expect({ asked: asked.length, versions: versions.length }).toEqual({ asked: 5, versions: 2 });
  });

  it('does not affect the tokens of other scopes', async () => {
    const { dependencies, window, versions } = clientRevoked();
    const accepted = { ...dependencies, requestToken: start().dependencies.requestToken };
    const request = { ...window.request, kind: 'list', resource: 'apps' } as never;
    const list = { ...window, request };
    await getToken(list, accepted);
    await expect(getToken(window, dependencies)).rejects.toMatchObject(failed);
    expect(versions.at(-1)).toMatchObject(versions[0] ?? {});
    await expect(getToken(list, dependencies)).resolves.toBeDefined();
  });

  it('is requested again if the refusal could not be cached', async () => {
    const { dependencies, window, asked, lines } = clientRevoked();
    const write = () => Promise.reject(new ServiceUnavailable('Throttled.'));
    const broken = { ...dependencies, tokens: { ...dependencies.tokens, write } };
    for (const _ of [1, 2]) await expect(getToken(window, broken)).rejects.toMatchObject(failed);
    expect(asked).toHaveLength(2);
    expect(JSON.stringify(lines)).toContain('ServiceUnavailable');
  });

  it.each(['PlatformUnavailable', 'AnswerUnreadable'] as const)('is not concluded from %s', async (name) => {
    const { dependencies, window, versions } = start({ failure: new errors[name]('It may pass.') });
    await expect(getToken(window, dependencies)).rejects.toMatchObject({ name });
    expect(versions).toEqual([]);
  });
});
