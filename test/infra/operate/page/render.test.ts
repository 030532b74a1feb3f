import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PageExport } from '../../../../infra/operate/days/page-contents.ts';
import { renderPage } from '../../../../infra/operate/page/render.ts';
import { fullExport, missingOf, pageContents, pageDays, pageExport } from '../../../support/page-contents.ts';

/** The markup of a page with one export. */
function render(fields: Partial<PageExport>): string {
  return renderPage(pageContents([pageExport(fields)]));
}

describe('texts', () => {
  test.each([
    ['markup', '<script>alert(1)</script>', '&#60;script&#62;alert(1)&#60;/script&#62;'],
    ['quotes', `"><b onclick='x'>&amp;`, '&#34;&#62;&#60;b onclick=&#39;x&#39;&#62;&#38;amp;'],
    ['what reverses the direction of writing', 'a\u202Eb\u2066c', 'a b c'],
    ['controls', 'a\u0000b\r\nc\u009Bd', 'a b c d'],
    ['joined emoji', '👩‍👩‍👧', '👩‍👩‍👧'],
  ])('%s', (_, name, shown) => {
    const page = render({ name, account: name });
    expect(page).toContain(`<bdi>${shown}</bdi>`);
    if (name !== shown) expect(page).not.toContain(name);
  });

  test('commands are escaped, and whole', () => {
    const command = `run '${'<'.repeat(1_000)}' "a\u0007"`;
    const page = render({ remedies: [{ aim: '', ranges: [], command }] });
    expect(page).toContain(`<pre class=copy>run &#39;${'&#60;'.repeat(1_000)}&#39; &#34;a &#34;</pre>`);
  });
});

test('warnings of the last run, and differences from the platform, stand beside the days', () => {
  const spend = { metric: 'spend', days: 28, platform_total: 1234.5, difference: -0.004 };
  const clicks = { metric: 'clicks', days: 28, platform_total: 7, difference: -1 };
  const metrics = [{ name: 'spend', unit: 'EUR' }];
  const page = render({ compared: [spend, clicks], metrics, warnings: ['a <b>', 'c'] });
  expect(page).toContain('<summary>2 warnings</summary><ul class=ranges><li>a &#60;b&#62;<li>c</ul>');
  expect(page).toMatch(/<bdi>spend<\/bdi><td[^>]*>28<td[^>]*>1,234.50<td[^>]*>less than 0.01\n/);
  expect(page).toMatch(/<bdi>clicks<\/bdi><td[^>]*>28<td[^>]*>7<td[^>]*>-1\n/);
  expect(render({ compared: [], warnings: [] })).not.toMatch(/warnings|own total/);
});

test('the policy allows this style sheet only', () => {
  const page = renderPage(pageContents([fullExport(30)]));
  const [, css = ''] = /<style>(.*)<\/style>/s.exec(page) ?? [];
  const hash = createHash('sha256').update(css).digest('base64');
  expect(page).toContain(`default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;`);
  expect(page).not.toMatch(/<script|style=|https?:|@import|url\(/);
});

const delivered = { delivered_at: '2026-11-22T02:20:00.000Z' };
const failure = { at: '', error: 'ReportStuck', happened: '', todo: '', command: '' };
const { last } = fullExport(1);
const lacking = {
  ...delivered,
  days: pageDays('2026-11-01', 30, { 1: 'missing', 2: 'missing', 3: 'held' }),
};
const broken = { ...delivered, days: pageDays('2026-11-01', 3, { 1: 'behind' }) };
const unfinished = {
  ...delivered,
  missing: missingOf(pageDays('2026-11-01', 3), [
    {
      execution: 'e',
      began_at: '2026-11-05T06:00:00Z',
      start_date: '2026-11-01',
      end_date: '2026-11-04',
      missing: 0,
      not_renewed: 3,
      command: '',
    },
  ]),
};
const complete = { ...delivered, days: pageDays('2026-11-01', 1_200, { 1: 'empty' }) };
test.each<[string, ...Partial<PageExport>[]]>([
  ['No export yet'],
  ['No delivery yet', {}],
  ['Nothing is missing', { ...delivered, kind: 'purchases' }],
  ['Nothing is missing from 1,200 days', complete],
  ['2 of 30 days missing, 1 day held', lacking],
  ['An earlier run failed, 2 of 30 days missing, 1 day held', { ...lacking, failure }],
  ['The last run failed', { failure, last }],
  ['1 day behind in the table', broken],
  ['1 unfinished run', unfinished],
  ['1 damaged object', { ...complete, damaged: ['k'] }],
  [
    'Nothing is missing from 3 days, 1 day of an older request',
    { ...delivered, days: pageDays('2026-11-01', 3, { 0: 'older' }) },
  ],
  ['Nothing is missing from 2 exports', complete, complete],
  ['2 of 3 exports need attention', lacking, { ...complete, failure }, complete],
  ['1 of 2 exports needs attention', complete, {}],
])('the first line says what is wrong: %s', (verdict, ...exports) => {
  const page = renderPage(pageContents(exports.map((fields) => pageExport(fields))));
  expect(page).toContain(`<h1>${verdict}</h1>`);
});

test('a command of a stack is for whoever runs the exports, and one of this machine is not', () => {
  const exports = [
    fullExport(3, { failure, remedies: [{ aim: 'To export them:', ranges: [], command: 'run' }] }),
  ];
  const page = pageContents(exports);
  expect(renderPage(page)).toContain('<p class=note>To export them:</p><pre class=copy>run</pre>');
  expect(renderPage(page)).not.toContain('whoever');
  expect(renderPage({ ...page, is_local: false })).toContain(
    '<p class=note>To export them, send this to whoever runs the exports:</p><pre class=copy>run</pre>',
  );
});

test('the facts say the time zone of the days, and how far behind an export is that goes on', () => {
  const facts = { newest_day: '2026-11-20', time_zone: 'Europe/Berlin' };
  expect(render(facts)).toMatch(
    /<dd><time>2026-11-20<.time><.dd>.*<dt>Time zone of the days<.dt><dd>Europe.Berlin</,
  );
  expect(render({ ...facts, days_behind: 1 })).toContain('<time>2026-11-20</time> (1 day behind)');
  expect(render({ ...facts, days_behind: 0 })).toContain('<time>2026-11-20</time> (up to date)');
});

test('of more than three exports, those without trouble are folded', () => {
  const fine = pageExport({ delivered_at: '2026-11-22T02:20:00.000Z' });
  const foldsOf = (...exports: PageExport[]) =>
    [...renderPage(pageContents(exports)).matchAll(/<details><summary><h2>.*?<div id="(.*?)">/gs)].map(
      ([, id]) => id,
    );
  expect(foldsOf(fullExport(30), fine, fine, fine)).toEqual(['export-2', 'export-3', 'export-4']);
  expect(foldsOf(fullExport(30), fine, fine)).toEqual([]);
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

test('the calendar begins each month at its weekday, marks and names each day, and counts the states', () => {
  const page = render({ days: pageDays('2026-10-30', 5, { 1: 'missing', 2: 'held', 4: 'empty' }) });
  expect(page).toContain(
    `<b>Oct 2026</b><ol>${'<li>'.repeat(4)}<li title="30 Oct: 100 rows, corrected 1 time">•`,
  );
  expect(page).toContain('<li class=missing title="31 Oct: missing">×');
  expect(page).toContain(`<b>Nov</b><ol>${'<li>'.repeat(6)}<li class=held title="1 Nov: held, 102 rows">=`);
  expect(page).toContain('<li title="2 Nov: 103 rows">');
  const legend = [...page.matchAll(/<li><i class="day (.*?)">(.?)<\/i>(\d+)/g)];
  expect(legend.map(([, ...columns]) => columns)).toEqual([
    ['', '', '2'],
    ['empty', '', '1'],
    ['missing', '×', '1'],
    ['held', '=', '1'],
    ['', '•', '1'],
  ]);
  expect(render({ days: [{ date: '2026-11-01', state: 'there' }] })).toContain('1 delivered');
});

test('months are in their order, those in a row of which the same is said in one line', () => {
  const counts = { final: 28, changing: 0, unverified: 0, lacking: 0 };
  const verify = { command: 'run daily', from: '2026-11-28' };
  const page = render({
    months: [
      { month: '2026-08', ...counts },
      { month: '2026-09', ...counts },
      { month: '2026-10', ...counts, unverified: 1, changing: 2, verify },
      { month: '2026-11', ...counts },
    ],
    closed: [{ month: '2026-11', closed_on: '2026-12-09', days: 0, changes: {} }],
  });
  const lines = [...page.matchAll(/<li><p><b>(.*?)<.b>/g)].map(([, names]) => names);
  expect(lines).toEqual(['Aug 2026, Sep 2026', 'Oct 2026', 'Nov 2026']);
  expect(page).toContain(
    '<b>Nov 2026</b> final, closed on <time>2026-12-09</time>, unchanged since</p></li>',
  );
  expect(page).toContain('<li><p><b>Aug 2026, Sep 2026</b> final</p></li>');
  expect(page).toMatch(/<b>Oct 2026<.b> 1 day unverified, 2 days changing<.*<time>2026-11-28<.*run daily</s);
});

describe('the restatement curve', () => {
  const renderCurve = (days: number) => {
    const points = [0.5, 0.9, 0.995, 1].map((share, at) => {
      return { metric: 'spend', age: at + 1, days, share, caught: share };
    });
    return render({ curve: { points, look_back: 3, configured: 28 } });
  };

  test('names the look-back that catches nearly all, beside the configured one', () => {
    const page = renderCurve(30);
    expect(page).toContain(
      '<b>last_3_days</b> would have caught 99 % of the changes of 30 final days; you have last_28_days.',
    );
    expect(page).toContain('aria-label="spend: 50 % after 1 day, 90 % after 2 days, 99.5 % after 3 days, ');
    expect(page).toContain('<path class=bar d="M0 100V50h.8V100M1 100V10h.8V100M2');
  });

  test('names no look-back if too few days are final, and says how many are', () => {
    const page = renderCurve(27);
    expect(page).toContain('27 days of the 28 that it takes are final and were read early on.');
    expect(page).not.toContain('last_3_days');
  });
});

describe('the numbers of each day', () => {
  function renderValues(values: readonly (number | null)[], unit = 'EUR', fields = {}): string {
    const days = values.map((value, at) => ({
      date: `2026-11-0${at + 1}`,
      state: 'there' as const,
      rows: 2,
      values: { spend: value },
      first: {},
      corrections: 0,
      ...fields,
    }));
    return render({ days, metrics: [{ name: 'spend', unit }] });
  }

  test.each([
    ['whole numbers', [0, 7], ['10', '5', '0']],
    ['a round top', [100], ['100', '50', '0']],
    ['thousands', [1634.25, 52345.1], ['60K', '40K', '20K', '0']],
    ['fractions', [0.034], ['0.04', '0.02', '0']],
    ['values below zero', [-30, 90], ['100', '50', '0', '-50']],
    ['zeros only', [0], ['0.5', '0']],
  ])('have round numbers on the axis of their chart: %s', (_, values, lines) => {
    const [, axis = ''] = /<div class=axis>(.*?)<\/div>/s.exec(renderValues(values)) ?? [];
    expect([...axis.matchAll(/<span>(.*?)<\/span>/g)].map(([, line]) => line)).toEqual(lines);
  });

  test('are drawn from zero, with a stripe where there is none, and listed', () => {
    const page = renderValues([50, null, -50, 100]);
    expect(page).toContain('<path class=gaps d="M1.5 0V100"/>');
    expect(page).toContain('<path class=bar d="M0 67V33h.8V67M2 67V100h.8V67M3 67V0h.8V67"/>');
    expect(page).toContain('<bdi>spend</bdi></b> <span class=unit>(EUR) per day</span>');
    expect(page).toContain('<th scope=col class="number"><bdi>spend</bdi> (EUR)');
    expect(page).toMatch(/-03<.*">-50\.00<.*\n.*-02<.*">–<.*\n.*-01<.*">50\.00</);
  });

  test.each([
    ['number', 1234567, '1,234,567'],
    ['count', -1234.5678, '-1,234.5678'],
    ['EUR', 1200.5, '1,200.50'],
    ['money', 0.0345, '0.03'],
    ['money', -0.001, '0.00'],
  ])('a sum in %s of %f is %s', (unit, value, shown) => {
    const page = renderValues([value], unit);
    expect(page).toContain(`<span class=sum>${shown}</span>`);
    expect(page).toContain(`<td class="number">${shown}<td`);
  });

  test.each([
    ['EUR', '(EUR) per day'],
    ['money', 'per day'],
    ['count', 'per day'],
  ])('name the unit %s as %s', (unit, words) => {
    expect(renderValues([1], unit)).toContain(`<span class=unit>${words}</span>`);
  });

  test('say what is grey, if something is', () => {
    const legend = 'Grey: what changed since the first report of the day.';
    expect(renderValues([0.3], 'EUR', { first: { spend: 0.1 }, corrections: 1 })).toContain(legend);
    expect(renderValues([0.3])).not.toContain(legend);
  });

  test('say by how much a day was corrected, and how often', () => {
    const page = renderValues([0.3], 'EUR', { first: { spend: 0.1 }, corrections: 2 });
    expect(page).toContain('<small>+0.20</small> 0.30<td class="optional">2 times\n');
    const less = renderValues([0.3], 'EUR', { first: { spend: 1200.3 }, corrections: 1 });
    expect(less).toContain('<small>-1,200.00</small> 0.30<td class="optional">1 time\n');
  });

  test('are those of the last 100 days', () => {
    const page = renderPage(pageContents([fullExport(731)]));
    expect(page).toContain('<h3>The last 100 days</h3>');
    expect(page).toContain('<summary>92 more</summary>');
    const names = [...page.matchAll(/<text .*?>(.*?)<\/text>/g)].map(([, date]) => date);
    expect(names.slice(0, 4)).toEqual(['14 Aug', '8 Sep', '3 Oct', '28 Oct']);
  });
});

test('two years of 15 exports have at most 1 MB', () => {
  const page = renderPage(pageContents(Array.from({ length: 15 }, () => fullExport(731))));
  expect(Buffer.byteLength(page)).toBeLessThan(1_000_000);
});
