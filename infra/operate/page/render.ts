import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MIN_CURVE_DAYS } from '../../stack/catalog/ledger-sql.ts';
import { STATE_WORDS } from '../days/missing-days.ts';
import { type PageContents, type PageCurve, type PageExport, RECENT_DAYS } from '../days/page-contents.ts';
import { describeEnd, toMinute } from '../executions/last-run.ts';
import { drawCalendar, isShort } from './calendar.ts';
import { drawChart, drawCurve } from './chart.ts';
import { formatCount, formatNumber } from './format.ts';
import { breakable, copyable, dated, fold, type Html, html, isolate, styleSheet } from './html.ts';
import {
  drawCompared,
  drawDamage,
  drawDays,
  drawDictionary,
  drawFailure,
  drawMonths,
  drawPairs,
  drawRemedies,
  tabulate,
} from './tables.ts';

/**
 * Exports that are all drawn open. Of more, the fine ones are folded: 19 exports would be printed on 40
 * pages.
 */
const MAX_OPEN = 3;

/** One HTML document, which needs nothing else: no script, no font, no request. */
export function renderPage({ exports, damaged, place, is_local, made_at, query }: PageContents): string {
  const css = readFileSync(new URL('page.css', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(css).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const verdict = describeAll(exports);
  return html`<!doctype html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="${policy}">
<meta name=viewport content="width=device-width">
<meta name=color-scheme content="light dark">
<meta name=referrer content=no-referrer>
<title>${verdict} – Ad Report Export</title>
<style>${styleSheet(css)}</style>
</head>
<body>
<header>
<p class=place>Ad Report Export · ${isolate(place)} · made ${dated(toMinute(made_at))} UTC</p>
<h1>${verdict}</h1>
${exports.length > 1 && compareExports(exports)}
</header>
<main>
${damaged.length > 0 && drawDamage(damaged)}
${exports.map((pageExport, at) => drawExport(pageExport, `export-${at + 1}`, { many: exports.length, isLocal: is_local }))}
</main>
${exports.some(({ metrics }) => metrics.length > 0) && html`<footer><p class=note>The numbers of each day in a terminal:</p>${copyable(query)}</footer>`}
</body>
</html>
`.markup;
}

/** In one line: what is wrong. */
function describeAll(exports: readonly PageExport[]): string {
  const [only, ...others] = exports;
  if (!only) return 'No export yet';
  if (others.length === 0) return describeVerdict(only);
  const troubled = exports.filter((pageExport) => findTrouble(pageExport).length > 0).length;
  if (troubled === 0) return `Nothing is missing from ${formatCount(exports.length, 'export')}`;
  return `${troubled} of ${formatCount(exports.length, 'export')} ${troubled === 1 ? 'needs' : 'need'} attention`;
}

function describeVerdict(pageExport: PageExport): string {
  const { days = 0, counts } = pageExport.missing ?? {};
  const trouble = findTrouble(pageExport);
  const fine = days > 0 ? `Nothing is missing from ${formatCount(days, 'day')}` : 'Nothing is missing';
  const older = counts?.older ?? 0;
  const words = older > 0 ? [`${formatCount(older, 'day')} ${STATE_WORDS.older}`] : [];
  return [...(trouble.length > 0 ? trouble : [fine]), ...words].join(', ');
}

/**
 * States of days that somebody has to look at. The days of an older request are shown, so they are no
 * trouble.
 */
const TROUBLES = ['missing', 'behind', 'held'] as const;

function findTrouble({ missing, failure, last, delivered_at, damaged }: PageExport): string[] {
  const { counts, days = 0, runs = [] } = missing ?? {};
  const lacking = TROUBLES.flatMap((state) => {
    const many = counts?.[state] ?? 0;
    if (many === 0) return [];
    if (state === 'missing') return `${formatNumber(many)} of ${formatCount(days, 'day')} missing`;
    return `${formatCount(many, 'day')} ${STATE_WORDS[state]}`;
  });
  return [
    ...(failure ? [`${last?.outcome === 'failed' ? 'The last' : 'An earlier'} run failed`] : []),
    ...lacking,
    ...(runs.length > 0 ? [`${formatCount(runs.length, 'unfinished run')}`] : []),
    ...(damaged.length > 0 ? [`${formatCount(damaged.length, 'damaged object')}`] : []),
    ...(delivered_at === undefined && !failure ? ['No delivery yet'] : []),
  ];
}

/** Such as `Missing`. */
function headOf(state: ListedState): string {
  return `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
}

const LISTED_STATES = ['missing', 'behind', 'held', 'older'] as const;
type ListedState = (typeof LISTED_STATES)[number];

function compareExports(exports: readonly PageExport[]): Html {
  const states = LISTED_STATES.filter(
    (state) => state === 'missing' || exports.some(({ missing }) => missing?.counts[state]),
  );
  const rows = exports.map((pageExport, at) => {
    const { account, name, newest_day, days_behind, running, last, failure, missing } = pageExport;
    const end = running.length > 0 ? 'running' : last ? breakable(describeEnd(last)) : '–';
    return [
      html`<a href="#export-${at + 1}">${isolate(account)}/${isolate(name)}</a>`,
      dated(newest_day ?? '–'),
      days_behind ?? '–',
      ...states.map((state) => {
        const days = missing?.counts[state];
        if (!days || state === 'older') return days ?? '–';
        return html`<span class=${state === 'missing' ? 'bad' : 'warn'}>${days}</span>`;
      }),
      failure && last?.outcome === 'failed' ? html`<span class=bad>${end}</span>` : end,
    ];
  });
  const columns = ['Export', 'Newest day', 'Days behind', ...states.map(headOf), 'Last run'];
  const numbers = columns.map((_, at) => at).slice(2, -1);
  return tabulate({ title: 'The exports, worst first', columns, numbers, optional: [1] }, rows);
}

/** @param id is inside of the details, so that a link to it opens them */
function drawExport(
  pageExport: PageExport,
  id: string,
  { many, isLocal }: { readonly many: number; readonly isLocal: boolean },
): Html {
  const { account, name } = pageExport;
  const verdict = many > 1 && html`<span class=verdict>${describeVerdict(pageExport)}</span>`;
  const heading = html`<h2><span class=account>${isolate(account)}/</span>${isolate(name)}</h2>${verdict}`;
  if (many > MAX_OPEN && findTrouble(pageExport).length === 0)
    return html`<section class=fine>
<details><summary>${heading}</summary>
<div id="${id}">
${drawParts(pageExport, isLocal)}</div></details>
</section>
`;
  return html`<section id="${id}">
${heading}
${drawParts(pageExport, isLocal)}</section>
`;
}

function drawParts(pageExport: PageExport, isLocal: boolean): Html {
  const { account, kind, days, remedies, months, metrics, curve, closed, failure, table } = pageExport;
  const { warnings, compared, damaged } = pageExport;
  // A list shows one snapshot only.
  const calendar = kind === 'report' && days.length > 0 && drawCalendar(days);
  const recent = days.slice(-RECENT_DAYS);
  return html`${drawFacts(pageExport)}
${failure && drawFailure(failure, isLocal)}
${damaged.length > 0 && drawDamage(damaged)}
${warnings.length > 0 && fold(formatCount(warnings.length, 'warning'), html`<ul class=ranges>${warnings.map((text) => html`<li>${breakable(text)}`)}</ul>`)}
<div class="days${isShort(days) && ' short'}">
${calendar && html`<div>\n<h3>Days</h3>\n${calendar}</div>`}
<div>
${remedies.length > 0 && html`<h3>What to do</h3>\n${drawRemedies(remedies, isLocal)}`}
${months.length + closed.length > 0 && html`<h3>Final days</h3>\n${drawMonths(months, closed, isLocal)}`}
</div>
</div>
${
  metrics.length > 0 &&
  html`<h3>The last ${recent.length === 1 ? 'day' : formatCount(recent.length, 'day')}</h3>
<div class=metrics>${metrics.map((metric) => drawChart(metric, recent))}</div>
${drawDays(metrics, recent)}`
}
${compared.length > 0 && html`<h3>Beside the platform's own total</h3>\n${drawCompared(compared, metrics)}`}
${curve && html`<h3>How long days change</h3>\n${drawRestatements(curve)}`}
${table && fold('What the columns mean', drawDictionary(table, account))}
`;
}

function drawRestatements({ points, look_back, configured }: PageCurve): Html {
  const days = Math.max(...points.map((point) => point.days));
  if (days < MIN_CURVE_DAYS)
    return html`<p class=note>${formatCount(days, 'day')} of the ${MIN_CURVE_DAYS} that it takes are final and were read early on.</p>`;
  const have = configured === undefined ? '' : `; you have last_${configured}_days`;
  const ofMetrics = Map.groupBy(points, ({ metric }) => metric);
  return html`<p><b>last_${look_back}_days</b> would have caught 99 % of the changes of ${formatCount(days, 'final day')}${have}.</p>
<p class=note>Of its final value, each metric showed at an age of so many days:</p>
<div class=metrics>${[...ofMetrics].map(([name, pointsOfMetric]) => drawCurve(name, pointsOfMetric))}</div>`;
}

function drawFacts(pageExport: PageExport): Html {
  const { newest_day, delivered_at, days_behind, kind, days, running, last, time_zone } = pageExport;
  const behind = days_behind === 0 ? ' (up to date)' : ` (${formatCount(days_behind ?? 0, 'day')} behind)`;
  const items = kind === 'list' ? days.at(-1)?.rows : undefined;
  return drawPairs([
    [
      kind === 'list' ? 'Snapshot of' : 'Newest day',
      newest_day && newest_day + (days_behind === undefined ? '' : behind),
    ],
    ['Time zone of the days', time_zone],
    ['Items', items === undefined ? undefined : formatNumber(items)],
    ['Last delivery', delivered_at === undefined ? 'none yet' : `${toMinute(delivered_at)} UTC`],
    ['Running', running.length > 0 ? running.join(', ') : undefined],
    ['Last run', last && `${describeEnd(last)}, ${toMinute(last.at)} UTC`],
  ]);
}
