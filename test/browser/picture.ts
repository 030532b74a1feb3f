/** Makes the README's pictures of the page, in light and dark, from exports of the sandbox. */

import { execFileSync } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { createChromium } from './chromium.ts';

const ROOT = new URL('../../', import.meta.url);

/**
 * Days before today, of the first day and the day after the last one. They overlap, and leave a gap of six
 * days.
 */
const RUNS = [
  [120, 60],
  [64, 30],
  [24, 1],
  [12, 0],
] as const;

/** Enough for the page's widest layout. */
const WIDTH = 1280;

await using folder = await mkdtempDisposable(join(tmpdir(), 'picture-'));
const today = new Date().toISOString().slice(0, 10);
// Without --speed, which would leave times in the future. All runs take some minutes.
for (const [from, to] of RUNS)
  runHere('run', '--from', addDays(today, -from), '--to', addDays(today, -to), '--restated-days', '14');
runHere('page');

await using browser = await createChromium();
const page = await browser.newPage();
await page.setViewportSize({ width: WIDTH, height: 800 });
await page.goto(pathToFileURL(join(folder.path, 'out/index.html')).href);
const end = await page.locator('.metrics').boundingBox();
const clip = { x: 0, y: 0, width: WIDTH, height: Math.ceil((end?.y ?? 0) + (end?.height ?? 0) + 16) };
for (const colorScheme of ['light', 'dark'] as const) {
  await page.emulateMedia({ colorScheme });
  const path = fileURLToPath(new URL(`.github/page-${colorScheme}.png`, ROOT));
  await page.screenshot({ path, clip, fullPage: true });
  console.log(path);
}

/** A command with the runs of the temporary folder, whose page then names the folder `out`. */
function runHere(command: string, ...options: readonly string[]): void {
  const main = fileURLToPath(new URL('infra/operate/cli/main.ts', ROOT));
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  execFileSync(process.execPath, [main, command, '--local', ...options], {
    cwd: folder.path,
    stdio: [...stdio],
  });
}
