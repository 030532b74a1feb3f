import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { PageContents, PageDay } from '../../infra/operate/days/page-contents.ts';
import { renderPage } from '../../infra/operate/page/render.ts';
import { fullExport, pageContents, pageDays, pageExport } from '../support/page-contents.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { createChromium } from './chromium.ts';

const browser = await createChromium();
afterAll(() => browser[Symbol.asyncDispose]());

/** Pixels of a narrow phone. */
const PHONE = 375;

const STATES = {
  1: 'there',
  2: 'empty',
  3: 'missing',
  4: 'behind',
  5: 'held',
  6: 'older',
} as const satisfies Record<number, PageDay['state']>;

const HOSTILE = `</script><script>alert(1)</script><img src=x onerror=alert(2)>'"&\u202E\u0000`;
const LONG = 'x'.repeat(200);

const FAILURE = {
  at: '2026-11-22T02:55:00.000Z',
  error: 'ReportStuck',
  happened: 'The report was PENDING for 30 minutes, three times.',
  todo: 'Ask the platform why.',
  command: 'npm run export -- explain daily-campaigns-20261121T041500123Z',
};

test.each<[string, PageContents]>([
  ['of a new folder', pageContents()],
  [
    'of one export with days in each state',
    pageContents([fullExport(30, { days: pageDays('2026-10-23', 30, STATES) })]),
  ],
  [
    'of several exports',
    pageContents([
      fullExport(60, { failure: FAILURE }),
      fullExport(120, { name: 'countries' }),
      pageExport({
        kind: 'list',
        days: pageDays('2026-11-21', 1),
        newest_day: '2026-11-21',
        delivered_at: '2026-11-21T02:20:00.000Z',
      }),
      pageExport({ kind: 'purchases' }),
    ]),
  ],
  ['of hostile names', replaceNames(HOSTILE)],
  ['of names with 200 characters', replaceNames(LONG)],
])('a page %s is accessible, asks for nothing, and fits the window', async (_, contents) => {
  const { page, url, seen } = await open(contents);
  await page.locator('details').evaluateAll((all) => {
    for (const section of all) section.setAttribute('open', '');
  });
  for (const [colorScheme, width] of [
    ['light', PHONE],
    ['dark', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const inspected = { colorScheme, width, ...(await inspect(page)) };
    expect(inspected).toEqual({ colorScheme, width, violations: [], scrolls: false, scripts: 0 });
  }
  expect(seen).toEqual([`request ${url}`]);
});

test('each state of a day has its own mark, whatever its colour', async () => {
  const { page } = await open(pageContents([pageExport({ days: pageDays('2026-11-01', 7, STATES) })]));
  const marks = await page.evaluate<string[]>(`[...document.querySelectorAll('.legend i')].map((each) =>
    (getComputedStyle(each).backgroundColor !== 'rgba(0, 0, 0, 0)') + each.textContent)`);
  // The states and the mark of a day that was restated.
  expect(marks).toHaveLength(Object.keys(STATES).length + 1);
  expect(new Set(marks).size).toBe(marks.length);
});

test('what to do stands beside a short calendar at 1280 pixels, and below it on a phone', async () => {
  const { page } = await open(pageContents([fullExport(30)]));
  const placesAt = async (width: number) => {
    await page.setViewportSize({ width, height: 960 });
    const [calendar, remedies] = await page.locator('.days > div').evaluateAll((parts) =>
      parts.map((part) => {
        const { left, top, right, bottom } = part.getBoundingClientRect();
        return { left, top, right, bottom };
      }),
    );
    if (!calendar || !remedies) throw new Error('the page has no calendar, or nothing to do');
    return { isBeside: remedies.left >= calendar.right, isBelow: remedies.top >= calendar.bottom };
  };
  expect(await placesAt(1280)).toEqual({ isBeside: true, isBelow: false });
  expect(await placesAt(PHONE)).toEqual({ isBeside: false, isBelow: true });
});

test('a table that is cut on a phone has a shadow at its edge, and scrolls', async () => {
  const { page } = await open(pageContents([fullExport(30), fullExport(30, { name: LONG })]));
  await page.setViewportSize({ width: PHONE, height: 960 });
  const tables = await page.evaluate<object[]>(`[...document.querySelectorAll('.wide')].map((table) => ({
    isCut: table.scrollWidth > table.clientWidth,
    shadows: getComputedStyle(table).backgroundImage.split('linear-gradient').length - 1,
    overflow: getComputedStyle(table).overflowX,
  }))`);
  expect(tables).toContainEqual({ isCut: true, shadows: 4, overflow: 'auto' });
});

test('the sum of a chart stays at its right edge, also where its title wraps on a phone', async () => {
  const metrics = [{ name: 'number_of_purchases_of_new_customers', unit: 'count' }];
  const { page } = await open(pageContents([fullExport(30, { metrics })]));
  await page.setViewportSize({ width: PHONE, height: 960 });
  const edges = await page
    .locator('figcaption')
    .first()
    .evaluate((caption) => ({
      caption: caption.getBoundingClientRect().right,
      sum: caption.querySelector('.sum')?.getBoundingClientRect().right,
    }));
  expect(edges.sum).toBeCloseTo(edges.caption, 0);
});

test('one click selects a whole command', async () => {
  const { page } = await open(pageContents([pageExport({ failure: FAILURE })]));
  await page.getByText('npm run export').click();
  expect(await page.evaluate('getSelection().toString()')).toBe(FAILURE.command);
});

test('a link to a folded export opens it', async () => {
  const days = pageDays('2026-11-01', 3);
  const fine = { days, missing: pageExport({ days }).missing, remedies: [] };
  const { page } = await open(pageContents(Array.from({ length: 19 }, () => fullExport(3, fine))));
  const calendar = page.locator('#export-19 .months');
  expect(await calendar.isVisible()).toBe(false);
  await page.locator('a[href="#export-19"]').click();
  await calendar.waitFor();
});

// A sheet of A4 without its margins has 680 pixels. On a screen, commands may break.
test.each([
  ['print', 'body', 680],
  ['screen', 'figcaption', PHONE],
  ['screen', 'figcaption', 1100],
] as const)('no word is broken in %s: %s, %i pixels wide', async (media, part, width) => {
  const metrics = fullExport(1).metrics.map(({ name }) => ({ name, unit: 'money' }));
  const exports = [fullExport(60, { failure: FAILURE, metrics }), fullExport(120)];
  const { page } = await open(pageContents(exports));
  await page.emulateMedia({ media });
  await page.setViewportSize({ width, height: 960 });
  const broken = await page.evaluate<string[]>(`(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (const range = new Range(); texts.nextNode(); )
      if (texts.currentNode.parentElement.closest('${part}')) for (const { 0: word, index } of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push(word);
      }
    return found;
  })()`);
  expect(broken).toEqual([]);
});

/** Opens the page as a file, as a person does. @returns what it asked for and wrote on the console */
async function open(contents: PageContents) {
  const file = join(temporaryDirectory(), 'index.html');
  await writeFile(file, renderPage(contents));
  const url = pathToFileURL(file).href;
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  const seen: string[] = [];
  page.on('request', (request) => seen.push(`request ${request.url()}`));
  page.on('console', (message) => seen.push(`console ${message.text()}`));
  page.on('pageerror', (error) => seen.push(`error ${error.message}`));
  await page.goto(url);
  return { page, url, seen };
}

async function inspect(page: Page) {
  const scripts = await page.locator('script').count();
  const scrolls = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  // The page's policy does not apply to the protocol of the developer tools.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  const described = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`);
  return { violations: described, scrolls, scripts };
}

/** Contents in which this text stands for each name that a person or the platform gives. */
function replaceNames(name: string): PageContents {
  const whole = fullExport(30, { failure: FAILURE });
  const replaced = JSON.parse(JSON.stringify(whole), (key, value: unknown) => {
    const isName = /^(account|name|reason|error|happened|todo|execution|description|meaning|unit|table)$/;
    return typeof value === 'string' && isName.test(key) ? name : value;
  });
  return { ...pageContents([replaced, fullExport(3)]), place: name };
}
