import { describe, expect, it } from 'vitest';
import { createObjectStore } from '../../../functions/aws/objects.ts';
import { getToken } from '../../../functions/get-token.ts';
import { createTokenRequest, type RequestToken } from '../../../functions/platform/oauth.ts';
import { isTaken, underLease } from '../../../functions/token/lease.ts';
import { RateLimited } from '../../../functions/workflow/errors.ts';
import { callsTo } from '../../support/journal.ts';
import { SETTINGS, startBucket } from '../../support/lambda.ts';
import { errorOf } from '../../support/platform.ts';
import { startAccount } from '../../support/secrets.ts';
import { keepLog, startStep, stoppedClock } from '../../support/steps.ts';
import { logIn } from '../../support/workflow-secrets.ts';

const KEY = 'leases/acme.json';

const lease = (expires_at: string, others = {}) => JSON.stringify({ owner: 'o', expires_at, ...others });
const asked = { asked_to_wait: 'The token endpoint answered 503.' };

it.each([
  ['that ends in a minute', lease('2026-11-21T06:01:00.000Z'), true],
  ['that ends in a moment', lease('2026-11-21T06:00:00.001Z'), true],
  ['of a clock that is a minute ahead', lease('2026-11-21T06:02:00.000Z'), true],
  ['that has just ended', lease('2026-11-21T06:00:00.000Z'), false],
  ['of a local run that was faster than time', lease('2026-11-21T06:02:00.001Z'), false],
  ['whose call was asked to wait 15 minutes', lease('2026-11-21T06:15:00.000Z', asked), true],
  ['whose call was asked to wait longer', lease('2026-11-21T06:15:00.001Z', asked), false],
  ['without a time', lease('soon'), false],
  ['that is not JSON', 'leased', false],
])('40: a lease %s: %s is held: %s', (_, text, expected) => {
  expect(isTaken(text, new Date('2026-11-21T06:00:00.000Z'))).toBe(expected);
});

/** The step with a login at the sandbox, on the local S3 and Secrets Manager, and a clock that tests move. */
async function startLogin() {
  const { sandbox, clock, access, window: begun } = await startStep({ rotateRefreshTokens: true });
  const { store, tokens, stored } = await startAccount({ credential: await logIn({ sandbox }) });
  const { s3 } = await startBucket();
  const requestToken = createTokenRequest(access.platform(sandbox.revision), {});
  const { token: _, ...window } = begun;
  const dependencies = {
    log: access.log,
    now: clock.now,
    objects: createObjectStore(SETTINGS),
    credentialOf: () => store,
    tokens,
    baseUrl: sandbox.baseUrl,
  };
  const grants = () => callsTo(sandbox, 'token').filter(({ body }) => body.includes('refresh_token')).length;
  /** Calls the step once for each execution, all at once, and names what became of them. */
  async function callAtOnce(executions: number) {
    const call = () => getToken(window, { ...dependencies, requestToken });
    const ended = await Promise.all(
      Array.from({ length: executions }, () => call().catch(({ name }: Error) => name)),
    );
    const versions = ended.flatMap((state) => (typeof state === 'string' ? [] : [state.token.version]));
    const failed = ended.filter((state) => typeof state === 'string');
    return { versions: [...new Set(versions)], failed, waiting: failed.length };
  }
  /** Starts a call that is killed when the token endpoint has answered. */
  function startKilled(): Promise<void> {
    return new Promise((answered, reject) => {
      const killed: RequestToken = async (...request) => {
        await requestToken(...request);
        answered();
        return new Promise(() => {});
      };
      getToken(window, { ...dependencies, requestToken: killed }).catch(reject);
    });
  }
  const written = () => stored.token.versions().length;
  return { clock, s3, stored, grants, written, callAtOnce, startKilled };
}

// A whole run has the same with a client whose token needs no refresh token.
describe('fifty executions of an account whose refresh tokens are replaced', () => {
  it('40: send one token request and write one version when they start at once', async () => {
    const { s3, stored, grants, written, callAtOnce } = await startLogin();
    const first = await callAtOnce(50);
    expect(new Set(first.failed)).toEqual(new Set(['ServiceUnavailable']));
    const second = await callAtOnce(first.waiting);
    expect(second).toMatchObject({ versions: first.versions, waiting: 0 });
    expect(first.versions).toHaveLength(1);
    expect({ grants: grants(), written: written() }).toEqual({ grants: 1, written: 1 });
    expect(stored.credential.versions()).toHaveLength(2);
    expect(new Set(s3.journal.map(({ operation, key }) => `${operation} ${key}`))).toEqual(
      new Set([`PutObject ${KEY}`, `GetObject ${KEY}`]),
    );
  });

  it('40: send one more after a minute if the one that renews is killed, whose refresh token died with it', async () => {
    const { clock, grants, written, callAtOnce, startKilled } = await startLogin();
    await startKilled();
    clock.pass(59.999);
    expect(await callAtOnce(49)).toMatchObject({ versions: [], waiting: 49 });
    expect(grants()).toBe(1);
    clock.pass(0.001);
    const first = await callAtOnce(49);
    const second = await callAtOnce(first.waiting);
    expect({ grants: grants(), written: written() }).toEqual({ grants: 2, written: 1 });
    expect(second).toMatchObject({ versions: [], failed: second.failed.map(() => 'LoginRequired') });
    expect(second.failed.length).toBeGreaterThan(0);
  });
});

describe('a lease on S3', () => {
  async function start() {
    const { s3 } = await startBucket();
    const clock = stoppedClock();
    const access = { now: clock.now, log: keepLog().log, objects: createObjectStore(SETTINGS) };
    const failing = () => Promise.reject(new Error('The platform did not answer.'));
    const renew = (call: () => Promise<string>) =>
      underLease('acme', access, call).catch(({ name, message }: Error) =>
        name === 'Error' ? message : name,
      );
    return { s3, clock, access, renew, failing };
  }

  it('40: is free five seconds after a token was stored, and at once after a failure', async () => {
    const { clock, renew, failing } = await start();
    expect(await renew(async () => 'stored')).toBe('stored');
    clock.pass(4.999);
    expect(await renew(failing)).toBe('ServiceUnavailable');
    clock.pass(0.001);
    for (const _ of [1, 2]) expect(await renew(failing)).toBe('The platform did not answer.');
  });

  it('40: is the one of a call that took it, and whose answer was lost', async () => {
    const { s3, renew } = await start();
    // The SDK repeats the write, and meets the lease that its first try has stored.
    s3.faults.push({ operation: 'PutObject', answer: 'lost answer' });
    expect(await renew(async () => 'renewed')).toBe('renewed');
  });

  it('40: is the one of a call that took it over, and whose answer was lost', async () => {
    const { s3, clock, access, renew } = await start();
    await renew(async () => 'stored');
    clock.pass(60);
    const { putJson } = access.objects;
    access.objects.putJson = (key, value, replaces) => {
      if (replaces !== 'absent') s3.faults.push({ operation: 'PutObject', answer: 'lost answer' });
      return putJson(key, value, replaces);
    };
    expect(await renew(async () => 'renewed')).toBe('renewed');
  });

  it.each([
    ['503 with Retry-After', { status: 503, retry_after: 900 }, 900],
    ['a Retry-After of a day', { status: 503, retry_after: 86_400 }, 900],
    ['400 without it', { status: 400 }, 10],
  ])('66: keeps every call from the endpoint that asked to wait: %s', async (_, facts, seconds) => {
    const { clock, access } = await start();
    let requests = 0;
    const busy = () => {
      requests += 1;
      return Promise.reject(new RateLimited('The token endpoint is busy.', facts));
    };
    const call = () => errorOf(RateLimited, underLease('acme', access, busy));
    await call();
    clock.pass(seconds - 0.001);
    expect(await call()).toMatchObject({ happened: 'The token endpoint is busy.', facts });
    expect(requests).toBe(1);
    clock.pass(0.001);
    expect(await underLease('acme', access, async () => 'renewed')).toBe('renewed');
  });

  it('66: does not keep a person from storing a credential while the endpoint asks to wait', async () => {
    const { access } = await start();
    const busy = () => Promise.reject(new RateLimited('The token endpoint is busy.', { retry_after: 900 }));
    await errorOf(RateLimited, underLease('acme', access, busy));
    const command = { ...access, asksAnyway: true };
    expect(await underLease('acme', command, async () => 'stored')).toBe('stored');
  });

  it('40: stays with the call that took it over from one that was too slow', async () => {
    const { clock, renew, failing } = await start();
    await renew(async () => {
      clock.pass(60);
      await renew(async () => 'taken over');
      return failing();
    });
    expect(await renew(failing)).toBe('ServiceUnavailable');
  });

  it('40: runs out by itself if it cannot be released', async () => {
    const { s3, clock, renew, failing } = await start();
    const renewed = renew(async () => {
      s3.faults.push({ operation: 'GetObject', answer: 'AccessDenied' });
      return 'stored';
    });
    expect(await renewed).toBe('stored');
    clock.pass(59);
    expect(await renew(failing)).toBe('ServiceUnavailable');
  });
});
