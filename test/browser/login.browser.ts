import type { BrowserContext, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { countExchanges, startLogin as startLoginCommand, startPlatform } from '../infra/cli/support.ts';
import { createChromium } from './chromium.ts';

let browser: BrowserContext & AsyncDisposable;
beforeAll(async () => {
  browser = await createChromium();
});
afterAll(() => browser[Symbol.asyncDispose]());

/** Starts the command and opens the consent screen in a page of the browser. */
async function startLogin(change: (url: URL) => void = () => {}) {
  const platform = await startPlatform();
  const login = startLoginCommand(platform);
  const url = new URL(await login.url);
  change(url);
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    login.child.kill();
  });
  await page.goto(url.href);
  return { ...platform, ended: login.ended, page };
}

/** Presses a button on the consent screen and waits for the answer to the redirect. */
async function press(page: Page, name: 'Allow' | 'Deny'): Promise<{ answer: Response; url: URL }> {
  const answered = page.waitForResponse((one) => new URL(one.url()).pathname === '/callback');
  await page.getByRole('button', { name }).click();
  const answer = await answered;
  await page.waitForLoadState();
  return { answer, url: new URL(answer.url()) };
}

test('Allow logs in, and neither the terminal nor the page shows a secret', async () => {
  const { page, sandbox, ended, readStored } = await startLogin();
  expect(await page.getByRole('main').innerText()).toContain(sandbox.clientId);
  const { answer, url } = await press(page, 'Allow');
  expect(answer.status()).toBe(200);
  expect(answer.headers()).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  expect(await page.getByRole('heading').innerText()).toBe('Logged in');
  expect(await page.getByRole('main').innerText()).toContain('You can close this page.');
  const { status, stdout, stderr } = await ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const { refresh_token = '', client_secret = '' } = await readStored();
  expect(refresh_token).toMatch(/^sbx_rt_/);
  const shown = stdout + (await page.content());
  for (const secret of [refresh_token, client_secret, url.searchParams.get('code') ?? '']) {
    expect(secret).not.toBe('');
    expect(shown).not.toContain(secret);
  }
});

test('Deny ends the login, and nothing is stored', async () => {
  const { page, sandbox, ended, readStored } = await startLogin();
  const { answer } = await press(page, 'Deny');
  expect(answer.status()).toBe(400);
  expect(await page.getByRole('heading').innerText()).toBe('Not logged in');
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toMatch(/Access was denied in the browser\.\nWhat to do: /);
  expect(countExchanges(sandbox)).toBe(0);
  expect(await readStored()).not.toHaveProperty('refresh_token');
});

test('a forged state ends the login, and the code is not exchanged', async () => {
  const forge = (url: URL) => url.searchParams.set('state', 'f'.repeat(43));
  const { page, sandbox, ended, readStored } = await startLogin(forge);
  const { answer, url } = await press(page, 'Allow');
  expect(url.searchParams.get('code')).toMatch(/^sbx_code_/);
  expect(answer.status()).toBe(400);
  expect(await page.getByRole('heading').innerText()).toBe('Not logged in');
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toContain('a state that this login did not send');
  expect(countExchanges(sandbox)).toBe(0);
  expect(await readStored()).not.toHaveProperty('refresh_token');
});

test('the consent screen can be used with only the keyboard', async () => {
  const { page, ended } = await startLogin();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').innerText()).toBe('Allow');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Logged in', exact: true }).waitFor();
  expect(await ended).toMatchObject({ status: 0 });
});
