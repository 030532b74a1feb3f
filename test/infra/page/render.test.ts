import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PageExport } from '../../../infra/page/contents.ts';
import { renderPage } from '../../../infra/page/render.ts';
import { fullExport, pageContents, pageDays, pageExport, pageSums } from '../../support/page-contents.ts';

/** The markup of a page with one export. */
function render(fields: Partial<PageExport>): string {
  return renderPage(pageContents([pageExport(fields)]));
}

describe('texts', () => {
  test.each([
    ['markup', '<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['quotes', `"><b onclick='x'>&amp;`, '&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;amp;'],
    ['what reverses the direction of writing', 'a\u202Eb\u2066c', 'a[U+202E]b[U+2066]c'],
    ['controls', 'a\u0000b\r\nc\u009Bd', 'a␀b␍␊c[U+009B]d'],
    ['half a character', 'a\uD83Db', 'a\uFFFDb'],
    ['joined emoji', '👩‍👩‍👧', '👩‍👩‍👧'],
  ])('%s', (_, name, shown) => {
    const page = render({ name, account: name });
    expect(page).toContain(`<bdi>${shown}</bdi>`);
    if (name !== shown) expect(page).not.toContain(name);
  });

  test('commands and queries are escaped, and whole', () => {
    const sql = `SELECT '${'<'.repeat(1_000)}'\n\tFROM "a\u0007"`;
    const page = render({ days: pageDays('2026-11-01', 1), queries: { days: sql } });
    expect(page).toContain(
      `<pre class=copy>SELECT &#39;${'&lt;'.repeat(1_000)}&#39;\n\tFROM &quot;a␇&quot;</pre>`,
    );
  });
});

test('the policy allows this style sheet only', () => {
  const page = render({ days: pageDays('2026-11-01', 30), sums: pageSums('2026-11-01', 30) });
  const [, css = ''] = /<style>(.*)<\/style>/s.exec(page) ?? [];
  const hash = createHash('sha256').update(css).digest('base64');
  expect(page).toContain(`default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;`);
  expect(page).not.toMatch(/<script|style=|https?:|@import|url\(/);
});

describe('the first line says what is wrong', () => {
  const delivered = { freshness: { delivered_at: '2026-11-22T02:20:00.000Z' } };
  const failure = {
    at: '',
    error: 'ReportStuck',
    happened: '',
    todo: '',
    execution: '',
    key: '',
    command: '',
  };
  const missing = {
    ...delivered,
    days: pageDays('2026-11-01', 30, { 1: 'absent', 2: 'unfinished', 3: 'held' }),
  };
  const complete = { ...delivered, days: pageDays('2026-11-01', 1_200, { 1: 'empty', 2: 'running' }) };
  test.each<[string, ...Partial<PageExport>[]]>([
    ['No export yet'],
    ['No delivery yet', {}],
    ['Nothing is missing', { ...delivered, kind: 'purchases' }],
    ['Nothing is missing from 1,200 days', complete],
    ['2 of 30 days missing, 1 day held', missing],
    ['The last run failed, 2 of 30 days missing, 1 day held', { ...missing, failure }],
    [
      'The newest list is held',
      { ...delivered, kind: 'list', days: pageDays('2026-11-01', 1, { 0: 'held' }) },
    ],
    ['Nothing is missing from 2 exports', complete, complete],
    [
      '1 of 3 exports failed, 2 have missing days, 2 have held days',
      { ...missing, failure },
      missing,
      complete,
    ],
    ['1 of 2 exports has missing days, 1 has held days', missing, complete],
    ['1 of 2 exports has no delivery yet', complete, {}],
  ])('%s', (verdict, ...exports) => {
    const page = renderPage(pageContents(exports.map((fields) => pageExport(fields))));
    expect(page).toContain(`<h1>${verdict}</h1>`);
  });
});

test('of more than three exports, those without trouble are folded', () => {
  const fine = pageExport({ freshness: { delivered_at: '2026-11-22T02:20:00.000Z' } });
  const failing = fullExport(30);
  const foldsOf = (...exports: PageExport[]) =>
    [...renderPage(pageContents(exports)).matchAll(/<details><summary><h2>.*?<div id="(.*?)">/gs)].map(
      ([, id]) => id,
    );
  expect(foldsOf(failing, fine, fine, fine)).toEqual(['export-2', 'export-3', 'export-4']);
  expect(foldsOf(failing, fine, fine)).toEqual([]);
});

test('the exports side by side link to their sections', () => {
  const page = renderPage(pageContents([fullExport(30), pageExport({ name: 'new' })]));
  expect(page).toContain(
    '<tr><td><a href="#export-1"><bdi>acme</bdi>/<bdi>daily-campaigns</bdi></a><td class="optional"><time>2026-11-21</time><td class="number">1<td class="number"><span class=bad>1</span><td class="number"><span class=warn>1</span><td>failed: Report<wbr>Stuck\n',
  );
  expect(page).toContain('<section id="export-1">');
  expect(page).toContain(
    '<bdi>new</bdi></a><td class="optional">–<td class="number">–<td class="number">–<td class="number">–<td>–\n',
  );
});

describe('the calendar', () => {
  const days = pageDays('2026-10-30', 5, { 1: 'absent', 2: 'held' });

  test('begins each month at its weekday, and marks and names each day', () => {
    const page = render({ days });
    expect(page).toContain(
      `<b>Oct 2026</b><ol>${'<li>'.repeat(4)}<li title="30 Oct: 100 rows, corrected once">•`,
    );
    expect(page).toContain('<li class=absent title="31 Oct: missing: not exported">×');
    expect(page).toContain(`<b>Nov</b><ol>${'<li>'.repeat(6)}<li class=held title="1 Nov: held: `);
    expect(page).toContain('<li title="2 Nov: 103 rows">');
  });

  test('counts only the states that occur', () => {
    const page = render({ days });
    const legend = [...page.matchAll(/<li><i class="day (.*?)">(.?)<\/i>(\d+)/g)].map(
      ([, ...found]) => found,
    );
    expect(legend).toEqual([
      ['rows', '', '3'],
      ['held', '=', '1'],
      ['absent', '×', '1'],
      ['rows', '•', '1'],
    ]);
  });
});

describe('the charts', () => {
  function renderValues(...values: readonly (string | null)[]): string {
    const metrics = [{ name: 'spend', values, total: '1' }];
    const points = values.map((value, at) => {
      return { start: `2026-11-0${at + 1}`, known: value === null ? 0 : 1, all: 1 };
    });
    return render({ table: tableOf('money', { acme: 'EUR' }), sums: { unit: 'day', points, metrics } });
  }

  test.each([
    ['whole numbers', ['0', '7'], ['10', '5', '0']],
    ['a round top', ['100'], ['100', '50', '0']],
    ['thousands', ['1634.25', '52345.1'], ['60K', '40K', '20K', '0']],
    ['fractions', ['0.034'], ['0.04', '0.02', '0']],
    ['values below zero', ['-30', '90'], ['100', '50', '0', '-50']],
    ['zeros only', ['0'], ['0.5', '0']],
  ])('have round numbers on their axis: %s', (_, values, lines) => {
    const [, axis = ''] = /<div class=axis>(.*?)<\/div>/s.exec(renderValues(...values)) ?? [];
    expect([...axis.matchAll(/<span>(.*?)<\/span>/g)].map(([, line]) => line)).toEqual(lines);
  });

  test('draw each value from zero, and show where there is none', () => {
    const page = renderValues('50', null, '-50', '100');
    expect(page).toContain('<path class=gaps d="M1.5 0V100"/>');
    expect(page).toContain('<path class=bar d="M0 67V33h.8V67M2 67V100h.8V67M3 67V0h.8V67"/>');
    expect(page).toMatch(/2026-11-01<td class="number">50\.00\n.*-02<td class="number">–\n.*">-50\.00\n/);
  });

  test('draw apart what has only some of its days, and say how many', () => {
    const points = ['2026-10-26', '2026-11-02', '2026-11-09'].map((start, at) => {
      return { start, known: [3, 7, 0][at] ?? 0, all: 7 };
    });
    const metrics = [{ name: 'clicks', values: ['50', '100', null], total: '150' }];
    const page = render({ sums: { unit: 'week', points, metrics } });
    expect(page).toContain('<path class=bar d="M1 100V0h.8V100"/>');
    expect(page).toContain(
      '<path class="bar partial" d="M0 100V50h.8V100"><title>From 2026-10-26: only 3 of 7 days</title></path>',
    );
    expect(page).toContain('<i class="day partial"></i>only some days of the week');
    expect(page).toContain('<i class="day gap"></i>no day in the table');
    expect(page).toContain('2026-10-26 <small>only 3 of 7 days</small><td class="number">50\n');
  });

  test('name the unit, at the numbers too', () => {
    const page = renderValues('1');
    expect(page).toContain('<bdi>spend</bdi></b> <span class=unit>(EUR) per day</span>');
    expect(page).toContain('<th scope=col class="number"><bdi>spend</bdi> (EUR)');
  });

  test('name the first days of some points, and each new year', () => {
    const sums = pageSums('2026-02-16', 52, 'week');
    const page = render({ sums: { ...sums, metrics: sums.metrics.slice(0, 1) } });
    const names = [...page.matchAll(/<text .*?>(.*?)<\/text>/g)].map(([, date]) => date);
    expect(names).toEqual(['16 Feb 2026', '18 May', '17 Aug', '16 Nov']);
  });
});

/** The dictionary of a table whose metric `spend` has this unit. */
function tableOf(unit: string, currencies: Record<string, string> = {}): NonNullable<PageExport['table']> {
  const columns = [{ name: 'spend', type: 'double' as const, meaning: '', unit }];
  return { table: 'daily', description: '', time_zones: {}, currencies, columns };
}

test.each([
  ['number', '1234567.000000', '1,234,567'],
  ['number', '-1234.567800', '-1,234.5678'],
  ['count', '100', '100'],
  ['number', '9007199254740993.034500', '9,007,199,254,740,993.0345'],
  ['EUR', '1200.500000', '1,200.50'],
  ['EUR', '100', '100.00'],
  ['money', '0.034500', '<data value="0.034500">0.03</data>'],
  ['money', '-0.001000', '<data value="-0.001000">0.00</data>'],
])('a sum in %s of %s is %s', (unit, total, shown) => {
  const points = [{ start: '2026-11-01', known: 1, all: 1 }];
  const metrics = [{ name: 'spend', values: ['1'], total }];
  const page = render({ table: tableOf(unit), sums: { unit: 'day', points, metrics } });
  expect(page).toContain(`<span class=sum>${shown}</span>`);
  expect(page).toContain(`<tr><td>Sum<td class="number">${shown}\n`);
});

test('the corrections of a day and metric are one row: by how much, from, to, how many and when', () => {
  const correction = { date: '2026-11-01', metric: 'spend', at: '2026-11-22T02:20:00.000Z' };
  const clicks = { date: '2026-10-31', metric: 'clicks', corrections: 1, at: '2026-11-21T02:20:00.000Z' };
  const page = render({
    table: tableOf('EUR'),
    restatements: [
      { ...correction, first: '0.100000', now: '0.3', corrections: 3 },
      { ...correction, first: '1200.3041', now: '0.3', corrections: 1 },
      { ...clicks, first: '1200', now: '0' },
      { ...clicks, now: '5' },
    ],
    older_restatements: 1,
  });
  const rows = [...page.matchAll(/<tr><td><time>(.*)/g)].map(([, row = '']) =>
    row.split(/<td.*?>/).map((cell) => cell.replace(/<(?!data).*?>/g, '')),
  );
  const [less, before] = ['<data value="-1200.004100">-1,200.00', '<data value="1200.3041">1,200.30'];
  expect(rows).toEqual([
    ['2026-11-01', 'spend', '+0.20', '0.10', '0.30', '3', '2026-11-22 02:20'],
    ['2026-11-01', 'spend', less, before, '0.30', '1', '2026-11-22 02:20'],
    ['2026-10-31', 'clicks', '-1,200', '1,200', '0', '1', '2026-11-21 02:20'],
    ['2026-10-31', 'clicks', '', '–', '5', '1', '2026-11-21 02:20'],
  ]);
  expect(page).toContain('1 older correction not shown');
});

test('ranges that one command mends have it once', () => {
  const range = {
    start_date: '2026-11-01',
    end_date: '2026-11-02',
    days: 1,
    command: 'npm run export -- run a',
  };
  const ranges = [
    { ...range, reason: 'not exported' },
    { ...range, reason: 'held' },
  ];
  const page = render({ days: pageDays('2026-11-01', 1), ranges });
  expect(page.match(/not exported<\/p>|held<\/p>|Send this to .*?:|npm run export -- run a/g)).toEqual([
    'not exported</p>',
    'held</p>',
    'Send this to whoever runs the exports:',
    range.command,
  ]);
});

test.each([
  ['2026-11-22T02:20:00.000Z', false],
  ['2026-11-23T02:20:00.000Z', true],
])('a delivery of %s is in the future: %s', (delivered_at, isAhead) => {
  const page = render({ freshness: { delivered_at } });
  expect(page.includes('Runs with --speed leave times in the future.')).toBe(isAhead);
});

test('two years of 15 exports have at most 1 MB', () => {
  const page = renderPage(pageContents(Array.from({ length: 15 }, () => fullExport(731))));
  expect(Buffer.byteLength(page)).toBeLessThan(1_000_000);
});
