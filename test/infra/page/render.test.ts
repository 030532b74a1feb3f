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
    ['10,000 characters', '😀'.repeat(10_000), `${'😀'.repeat(200)}… (9800 more characters)`],
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
    '<th scope=row><a href="#export-1"><bdi>acme</bdi>/<bdi>daily-campaigns</bdi></a></th><td class="optional date">2026-11-21</td><td class="number ">1</td><td class="number bad">1</td><td class="number warn">1</td><td class="">failed: Report<wbr>Stuck</td>',
  );
  expect(page).toContain('<section id="export-1">');
  expect(page).toContain('<bdi>new</bdi></a></th><td class="optional date">–</td><td class="number ">–</td>');
});

describe('the calendar', () => {
  const days = pageDays('2026-10-30', 5, { 1: 'absent', 2: 'held' });

  test('begins each month at its weekday, and names each day', () => {
    const page = render({ days });
    expect(page).toContain(
      '<b>Oct 2026</b><ol class="from-5"><li class="restated" title="30 Oct: 100 rows, corrected once">',
    );
    expect(page).toContain('<li class="absent" title="31 Oct: missing: not exported">');
    expect(page).toContain('<b>Nov</b><ol class="from-7"><li class="held" title="1 Nov: held: ');
    expect(page).toContain('<li title="2 Nov: 103 rows">');
  });

  test('counts only the states that occur, in the legend and by month', () => {
    const page = render({ days });
    const legend = [...page.matchAll(/<li><i class="day (.*?)"><\/i>(\d+)/g)].map(([, ...found]) => found);
    expect(legend).toEqual([
      ['rows', '3'],
      ['held', '1'],
      ['absent', '1'],
      ['rows restated', '1'],
    ]);
    expect(page).toContain('<tr><th scope=row>2026-10<td>2<td>1<td>0<td>1<td>1<td>100\n');
    expect(page).toContain('<tr><th scope=row>2026-11<td>3<td>2<td>1<td>0<td>0<td>309\n');
  });
});

describe('the charts', () => {
  function renderValues(...values: readonly (string | null)[]): string {
    const series = [{ label: 'all', values, total: '1' }];
    const metrics = [{ name: 'spend', unit: 'EUR', series, values, total: '1' }];
    const starts = values.map((_, at) => `2026-11-0${at + 1}`);
    const days = values.map((value) => ({ known: value === null ? 0 : 1, all: 1 }));
    return render({ sums: { unit: 'day', starts, days, metrics } });
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
    expect(page).toContain('<path class=bar d="M0 67v-34h1v34h1v33h1v-100h1V67z"/>');
    expect(page).toContain(
      '<tr><th>2026-11-01<td>50.00\n<tr><th>2026-11-02<td>–\n<tr><th>2026-11-03<td>-50.00\n',
    );
  });

  test('draw apart what has only some of its days, and say how many', () => {
    const series = [{ label: 'all', values: ['50', '100', '0'], total: '150' }];
    const starts = ['2026-10-26', '2026-11-02', '2026-11-09'];
    const days = [3, 7, 1].map((known) => ({ known, all: 7 }));
    const metrics = [{ name: 'clicks', series, values: ['50', '100', '0'], total: '150' }];
    const page = render({ sums: { unit: 'week', starts, days, metrics } });
    expect(page).toContain('<path class=bar d="M0 100h1v-100h1v100h1V100z"/>');
    expect(page).toContain(
      '<path class="bar partial" d="M0 100V50h1V100z"><title>From 2026-10-26: only 3 of 7 days</title></path>',
    );
    expect(page).toContain(
      'only 3 of 7 days from 2026-10-26, only 1 of 7 days from 2026-11-09: not a whole week',
    );
    expect(page).toContain(
      '<tr><th>2026-10-26 <small>only 3 of 7 days</small><td>50\n<tr><th>2026-11-02<td>100\n',
    );
  });

  test('have the numbers of each series and their total', () => {
    const sums = pageSums('2026-11-01', 1);
    const metrics = sums.metrics.slice(0, 1).map((each) => ({ ...each, values: ['1920.250000'] }));
    const page = render({ sums: { ...sums, metrics } });
    expect(page).toContain('<th scope=colgroup colspan="6"><span><bdi>spend</bdi> (EUR)</span>');
    expect(page).toContain('<bdi>7 others</bdi><th scope=col>Total\n');
    expect(page).toMatch(/<tr><th>2026-11-01(<td>[\d.,]+){5}<td>1,920\.25\n/);
    expect(page).toMatch(/<tr><th>Sum(<td>1,234,567\.25){5}<td>6,172,836\.25\n/);
  });

  test('name the unit', () => {
    expect(renderValues('1')).toContain('<bdi>spend</bdi></b> <span class=unit>(EUR) per day</span>');
  });

  test.each([
    ['days', pageSums('2026-10-30', 8), ['30 Oct', '1 Nov', '3 Nov', '5 Nov']],
    ['months', pageSums('2026-08-17', 100), ['Sep 2026', 'Oct', 'Nov']],
    ['quarters', pageSums('2026-02-16', 52, { unit: 'week' }), ['Apr 2026', 'Jul', 'Oct', 'Jan 2027']],
    ['half years', pageSums('2024-11-18', 105, { unit: 'week' }), ['Jan 2025', 'Jul', 'Jan 2026', 'Jul']],
  ])('name %s', (_, sums, names) => {
    const page = render({ sums: { ...sums, metrics: sums.metrics.slice(0, 1) } });
    expect([...page.matchAll(/<text .*?>(.*?)<\/text>/g)].map(([, date]) => date)).toEqual(names);
  });
});

test.each([
  ['number', '1234567.000000', '1,234,567', '1,234,567.00'],
  ['number', '-1234.567800', '-1,234.5678', '-1,234.57'],
  ['count', '100', '100', '100'],
  ['number', '0.034500', '0.0345', '0.0345'],
  ['number', '1e+21', '1e+21', '1e+21'],
  ['EUR', '1200.500000', '1,200.50', '1,200.50'],
  ['EUR', '100', '100.00', '100.00'],
  ['money', '0.034500', '<data value="0.034500">0.03</data>', '0.03'],
  ['money', '-0.001000', '<data value="-0.001000">0.00</data>', '0.00'],
])('a sum in %s of %s is %s among the numbers, and %s at the chart', (unit, total, exact, short) => {
  const series = [{ label: 'all', values: ['1'], total }];
  const page = render({
    sums: {
      unit: 'day',
      starts: ['2026-11-01'],
      days: [{ known: 1, all: 1 }],
      metrics: [{ name: 'spend', unit, series, values: ['1'], total }],
    },
  });
  expect(page).toContain(`<span class=sum><data value="${total}">${short}</data>`);
  expect(page).toContain(`<tr><th>Sum<td>${exact}\n`);
});

test('the corrections of a day and metric are one row: by how much, from, to, how many and when', () => {
  const correction = { date: '2026-11-01', metric: 'spend', first: '0.100000', corrections: 3 };
  const clicks = { date: '2026-11-01', metric: 'clicks', corrections: 1, at: '2026-11-21T02:20:00.000Z' };
  const page = render({
    table: fullExport(1).table,
    restatements: [
      { ...correction, before: '1200.3041', after: '0.3', at: '2026-11-22T02:20:00.000Z' },
      { ...correction, before: '0.500000', after: '1200.3041', at: '2026-11-21T02:20:00.000Z' },
      { ...clicks, first: '1200', before: '1200', after: '0' },
      { ...clicks, date: '2026-10-31', after: '5' },
    ],
    older_restatements: 1,
  });
  const rows = [...page.matchAll(/<tr><td><time>(.*)/g)].map(([, row = '']) =>
    row.split(/<td.*?>/).map((cell) => cell.replace(/<(?!data).*?>/g, '')),
  );
  expect(rows).toEqual([
    ['2026-11-01', 'spend', '+0.20', '0.10', '0.30', '3', '2026-11-22 02:20'],
    ['2026-11-01', 'clicks', '-1,200', '1,200', '0', '1', '2026-11-21 02:20'],
    ['2026-10-31', 'clicks', '', '–', '5', '1', '2026-11-21 02:20'],
    [
      '2026-11-01',
      'spend',
      '<data value="-1200.004100">-1,200.00',
      '<data value="1200.3041">1,200.30',
      '0.30',
      '2026-11-22 02:20',
    ],
    [
      '2026-11-01',
      'spend',
      '+<data value="1199.804100">1,199.80',
      '0.50',
      '<data value="1200.3041">1,200.30',
      '2026-11-21 02:20',
    ],
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
