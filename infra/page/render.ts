import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describeEnd } from '../cli/executions.ts';
import { countDays, drawCalendar } from './calendar.ts';
import { drawSums } from './chart.ts';
import type { PageContents, PageExport } from './contents.ts';
import { count, formatTime } from './format.ts';
import { copyable, type Html, html, styleSheet } from './html.ts';
import { drawDictionary, drawExecutions, drawFailure, drawRanges, drawRestatements } from './tables.ts';

/** One HTML document, which needs nothing else: no script, no font, no request. */
export function renderPage(contents: PageContents): string {
  const css = readFileSync(new URL('page.css', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(css).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const { exports, place, made_at } = contents;
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
<p class=place>Ad Report Export · <bdi>${place}</bdi> · made ${formatTime(made_at)} UTC</p>
<h1>${verdict}</h1>
${exports.length > 1 ? compareExports(exports) : undefined}
</header>
<main>
${exports.map(drawExport)}
</main>
</body>
</html>
`.markup;
}

/** In one line: what is wrong. */
function describeAll(exports: readonly PageExport[]): string {
  const [only, ...others] = exports;
  if (!only) return 'No export yet';
  if (others.length === 0) return describeExport(only);
  const having = (isWrong: (each: PageExport) => boolean) => exports.filter(isWrong).length;
  const wrong = [
    [having(({ failure }) => failure !== undefined), 'failed', 'failed'],
    [having((each) => (countDays(each)?.missing ?? 0) > 0), 'has missing days', 'have missing days'],
    [having((each) => (countDays(each)?.held ?? 0) > 0), 'has held days', 'have held days'],
  ] as const;
  const parts = wrong
    .filter(([many]) => many > 0)
    .map(
      ([many, one, several], place) =>
        `${many}${place === 0 ? ` of ${exports.length} exports` : ''} ${many === 1 ? one : several}`,
    );
  return parts.length > 0 ? parts.join(', ') : `Nothing is missing from ${exports.length} exports`;
}

function describeExport(each: PageExport): string {
  const counts = countDays(each);
  const parts = [
    ...(each.failure ? ['The last run failed'] : []),
    ...(counts?.missing
      ? [`${counts.missing} of ${count(counts.days, 'day')} ${counts.days === 1 ? 'is' : 'are'} missing`]
      : []),
    ...(counts?.held ? [`${count(counts.held, 'day')} ${counts.held === 1 ? 'is' : 'are'} held`] : []),
  ];
  if (parts.length > 0) return parts.join(', ');
  return counts && each.kind === 'report'
    ? `Nothing is missing from ${count(counts.days, 'day')}`
    : 'Nothing is missing';
}

function compareExports(exports: readonly PageExport[]): Html {
  const rows = exports.map((each, at) => {
    const { account, name, freshness, executions, failure } = each;
    const counts = countDays(each);
    const [last] = executions;
    const number = (many: number | undefined, mark: string) =>
      html`<td class="number ${many ? mark : ''}">${many ?? '–'}</td>`;
    return html`<tr><th scope=row><a href="#export-${at + 1}"><bdi>${account}</bdi>/<bdi>${name}</bdi></a></th><td class=optional>${freshness.newest_day ?? '–'}</td>${number(freshness.days_behind, '')}${number(counts?.missing, 'bad')}${number(counts?.held, 'warn')}<td class="${failure ? 'bad' : ''}">${last ? describeEnd(last) : failure ? 'failed' : '–'}</td></tr>
`;
  });
  return html`<div class=wide role=region tabindex=0 aria-label="The exports, worst first"><table class=compare>
<thead><tr><th scope=col>Export</th><th scope=col class=optional>Newest day</th><th scope=col class=number>Days behind</th><th scope=col class=number>Missing</th><th scope=col class=number>Held</th><th scope=col>Last run</th></tr></thead>
<tbody>
${rows}</tbody></table></div>`;
}

function drawExport(each: PageExport, at: number): Html {
  const {
    account,
    name,
    kind,
    days,
    ranges,
    sums,
    restatements,
    older_restatements,
    executions,
    failure,
    table,
    queries,
  } = each;
  return html`<section id="export-${at + 1}">
<h2><span class=account><bdi>${account}</bdi>/</span><bdi>${name}</bdi></h2>
<p class=verdict>${describeExport(each)}</p>
${drawFreshness(each)}
${failure ? drawFailure(failure) : undefined}
${days && days.length > 0 ? html`<h3>Days</h3>${drawCalendar(days)}${ranges.length > 0 ? drawRanges(ranges) : undefined}${drawQuery('Query these days', queries.days)}` : undefined}
${sums ? html`<h3>Over time</h3>${drawSums(sums, queries.sums)}` : undefined}
${restatements.length > 0 ? html`<h3>Restatements</h3>${drawRestatements(restatements, older_restatements)}${drawQuery('Query these restatements', queries.restatements)}` : undefined}
${executions.length > 0 ? html`<h3>Last runs</h3>${drawExecutions(executions)}` : undefined}
${table ? html`<details><summary>What the columns mean</summary>${drawDictionary(table, account)}</details>` : undefined}
${kind === 'purchases' ? html`<p class=note>A query for purchases has no days and no table.</p>` : undefined}
</section>
`;
}

function drawFreshness({ freshness: { newest_day, delivered_at, days_behind }, kind }: PageExport): Html {
  const behind = days_behind === undefined ? '' : ` (${count(days_behind, 'day')} behind)`;
  return html`<dl class=facts>
${newest_day === undefined ? undefined : html`<div><dt>${kind === 'list' ? 'Snapshot of' : 'Newest day'}</dt><dd>${newest_day}${behind}</dd></div>`}
<div><dt>Last delivery</dt><dd>${delivered_at === undefined ? 'none yet' : html`${formatTime(delivered_at)} UTC`}</dd></div>
</dl>`;
}

function drawQuery(title: string, query: string | undefined): Html | undefined {
  return query === undefined
    ? undefined
    : html`<details><summary>${title}</summary>${copyable(query)}</details>`;
}
