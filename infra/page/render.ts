import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describeEnd, toMinute } from '../knowledge/executions/executions.ts';
import { LACK_WORDS, LACKS, type Lack } from '../knowledge/missing-days.ts';
import { countDays, type DayCounts, drawCalendar } from './calendar.ts';
import { drawSums } from './chart.ts';
import type { PageContents, PageExport } from './contents.ts';
import { count, formatNumber } from './format.ts';
import {
  breakable,
  type Content,
  copyable,
  dated,
  fold,
  type Html,
  html,
  isolate,
  styleSheet,
} from './html.ts';
import {
  drawCorrections,
  drawDictionary,
  drawExecutions,
  drawFailure,
  drawPairs,
  drawRanges,
  tabulate,
} from './tables.ts';

/** Exports that are all drawn open. Of more, those without trouble are folded: 19 of them would be printed on 40 pages. */
const MAX_OPEN = 3;

const FINE = 'Nothing is missing';

/** The days of an older request are shown, so they are no trouble. */
const TROUBLES = LACKS.filter((lack) => lack !== 'older_request');

/** One HTML document, which needs nothing else: no script, no font, no request. */
export function renderPage(contents: PageContents): string {
  const css = readFileSync(new URL('page.css', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(css).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const { exports, place, made_at } = contents;
  const verdict = describeAll(exports);
  const isAhead = exports.some(({ freshness }) => (freshness.delivered_at ?? '') > made_at);
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
${isAhead && html`<p class=note>Runs with --speed leave times in the future.</p>`}
<h1>${verdict}</h1>
${exports.length > 1 ? compareExports(exports) : undefined}
</header>
<main>
${exports.map((each, at) => drawExport(each, `export-${at + 1}`, exports.length))}
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
    [having(lacking('not_delivered')), 'has missing days', 'have missing days'],
    [
      having(lacking('not_in_table')),
      'has days that are not in the table',
      'have days that are not in the table',
    ],
    [having(lacking('not_renewed')), 'has days to renew', 'have days to renew'],
    [having(lacking('held')), 'has held days', 'have held days'],
    [having(({ problem }) => problem !== undefined), 'has a damaged table', 'have damaged tables'],
    [having(isNew), 'has no delivery yet', 'have no delivery yet'],
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
  const those = each.kind === 'list' ? undefined : counts;
  const parts = [
    ...(each.failure ? ['The last run failed'] : []),
    ...TROUBLES.flatMap((lack) => {
      if (!counts?.[lack]) return [];
      return [those ? describeLack(lack, those) : `The newest list is ${LACK_WORDS[lack]}`];
    }),
    ...(each.problem === undefined ? [] : ['The table is damaged']),
    ...(isNew(each) ? ['No delivery yet'] : []),
  ];
  const older = counts?.older_request ? [describeLack('older_request', counts)] : [];
  if (parts.length > 0) return [...parts, ...older].join(', ');
  return [those ? `${FINE} from ${count(those.days, 'day')}` : FINE, ...older].join(', ');
}

function describeLack(lack: Lack, counts: DayCounts): string {
  if (lack === 'not_delivered')
    return `${formatNumber(String(counts[lack]))} of ${count(counts.days, 'day')} missing`;
  return `${count(counts[lack], 'day')} ${LACK_WORDS[lack]}`;
}

function lacking(lack: Lack): (each: PageExport) => boolean {
  return (each) => (countDays(each)?.[lack] ?? 0) > 0;
}

/** It was neither delivered nor failed. */
function isNew({ freshness, failure }: PageExport): boolean {
  return freshness.delivered_at === undefined && !failure;
}

const HEADS: Readonly<Record<Lack, string>> = {
  not_delivered: 'Missing',
  not_in_table: 'Not in table',
  not_renewed: 'To renew',
  held: 'Held',
  older_request: 'Older request',
};

function compareExports(exports: readonly PageExport[]): Html {
  const lacks = LACKS.filter((lack) => lack === 'not_delivered' || exports.some(lacking(lack)));
  const mark = (kind: string, content: Content) => html`<span class=${kind}>${content}</span>`;
  const rows = exports.map((each, at) => {
    const { account, name, freshness, executions, failure } = each;
    const counts = countDays(each);
    const end = executions[0] ? breakable(describeEnd(executions[0])) : failure ? 'failed' : '–';
    return [
      html`<a href="#export-${at + 1}">${isolate(account)}/${isolate(name)}</a>`,
      dated(freshness.newest_day ?? '–'),
      freshness.days_behind ?? '–',
      ...lacks.map((lack) => {
        const days = counts?.[lack];
        if (!days || lack === 'older_request') return days ?? '–';
        return mark(lack === 'not_delivered' ? 'bad' : 'warn', days);
      }),
      failure ? mark('bad', end) : end,
    ];
  });
  const heads = lacks.map((lack) => HEADS[lack]);
  const columns = ['Export', 'Newest day', 'Days behind', ...heads, 'Last run'];
  const numbers = columns.map((_, at) => at).slice(2, -1);
  return tabulate({ title: 'The exports, worst first', columns, numbers, optional: [1] }, rows);
}

/** @param id is inside of the details, so that a link to it opens them */
function drawExport(each: PageExport, id: string, many: number): Html {
  const { account, name } = each;
  const verdict = describeExport(each);
  const heading = html`<h2><span class=account>${isolate(account)}/</span>${isolate(name)}</h2>`;
  if (many > MAX_OPEN && verdict.startsWith(FINE))
    return html`<section class=fine>
<details><summary>${heading}<span class=verdict>${verdict}</span></summary>
<div id="${id}">
${drawParts(each)}</div></details>
</section>
`;
  return html`<section id="${id}">
${heading}
${many > 1 && html`<p class=verdict>${verdict}</p>`}
${drawParts(each)}</section>
`;
}

function drawParts(each: PageExport): Html {
  const { account, sums, restatements, executions, failure, problem, table, queries } = each;
  return html`${drawFacts(each)}
${failure && drawFailure(failure)}
${problem && html`<p class=note>The table is left out: ${breakable(problem)}.</p>`}
${drawPart('Days', drawDays(each), queries.days)}
${drawPart('Sums over time', sums && drawSums(sums, each), queries.sums)}
${drawPart('Corrected later', restatements.length > 0 && drawCorrections(each), queries.restatements)}
${drawPart('Last runs', executions.length > 0 && drawExecutions(executions))}
${table && fold('What the columns mean', drawDictionary(table, account))}
`;
}

function drawPart(title: string, content: Html | false | undefined, query?: string): Html | undefined {
  if (!content) return undefined;
  const sql = query === undefined ? undefined : fold(`SQL: ${title.toLowerCase()}`, copyable(query));
  return html`<h3>${title}</h3>
${content}${sql}`;
}

/** A list shows one snapshot only, so it has no calendar. */
function drawDays({ kind, days = [], ranges }: PageExport): Html | undefined {
  if (days.length === 0) return undefined;
  const calendar = kind === 'report' ? drawCalendar(days) : undefined;
  return calendar || ranges.length > 0 ? html`${calendar}${drawRanges(ranges)}` : undefined;
}

function drawFacts({
  freshness: { newest_day, delivered_at, days_behind },
  kind,
  days = [],
}: PageExport): Html {
  const words = days_behind === 0 ? 'up to date' : `${count(days_behind ?? 0, 'day')} behind`;
  const behind = days_behind === undefined ? '' : ` (${words})`;
  const items = kind === 'list' ? days.at(-1)?.rows : undefined;
  return drawPairs([
    [kind === 'list' ? 'Snapshot of' : 'Newest day', newest_day && newest_day + behind],
    ['Items', items === undefined ? undefined : formatNumber(String(items))],
    ['Last delivery', delivered_at === undefined ? 'none yet' : `${toMinute(delivered_at)} UTC`],
  ]);
}
