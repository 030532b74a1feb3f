import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

/** CI runs it as root. The other flags stop its own network requests. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** The system's Chromium, headless, with a temporary profile. */
export async function createChromium(): Promise<BrowserContext & AsyncDisposable> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || findChromium(),
    headless: true,
    args: FLAGS,
    viewport: { width: 900, height: 640 },
  });
  const close = async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  };
  return Object.assign(context, { [Symbol.asyncDispose]: close });
}

function findChromium(): string {
  try {
    return execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  } catch {
    throw new Error('There is no chromium in PATH. Install it, or set CHROMIUM to its path.');
  }
}
