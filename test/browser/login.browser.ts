import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { countExchanges, startLogin, startPlatform } from '../infra/cli/support.ts';
import { createChromium } from './chromium.ts';

let browser: Awaited<ReturnType<typeof createChromium>>;
beforeAll(async () => {
  browser = await createChromium();
});
afterAll(() => browser[Symbol.asyncDispose]());

/**
 * Starts the command, and presses a button on the consent screen.
 *
 * @returns the redirect, which nobody answers
 */
async function visit(name: 'Allow' | 'Deny') {
  const platform = await startPlatform();
  const { child, ended, url } = startLogin(platform);
  const page = await browser.newPage();
  onTestFinished(async () => {
    await page.close();
    child.kill();
  });
  await page.goto(await url);
  const shown = await page.getByRole('main').innerText();
  const redirect = await press(page, name);
  child.stdin.end(`${redirect}\n`);
  return { ...platform, shown, redirect: new URL(redirect), end: await ended };
}

async function press(page: Page, name: 'Allow' | 'Deny'): Promise<string> {
  const redirected = page.waitForRequest((one) => new URL(one.url()).pathname === '/callback');
  await page.getByRole('button', { name }).click();
  return (await redirected).url();
}

test('Allow logs in, and the terminal shows no secret', async () => {
  const { sandbox, shown, redirect, end, readStored } = await visit('Allow');
  expect(shown).toContain(sandbox.clientId);
  expect(end).toMatchObject({ status: 0, stderr: '' });
  const { refresh_token = '', client_secret = '' } = await readStored();
  expect(refresh_token).toMatch(/^sbx_rt_/);
  for (const secret of [refresh_token, client_secret, redirect.searchParams.get('code') ?? '']) {
    expect(secret).not.toBe('');
    expect(end.stdout).not.toContain(secret);
  }
});

test('Deny ends the login, and nothing is stored', async () => {
  const { sandbox, end, readStored } = await visit('Deny');
  expect(end.status).toBe(1);
  expect(end.stderr).toMatch(/Access was refused in the browser: access_denied\.\nWhat to do: /);
  expect(countExchanges(sandbox)).toBe(0);
  expect(await readStored()).not.toHaveProperty('refresh_token');
});
