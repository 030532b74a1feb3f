import { describeDays } from '../../../functions/workflow/request/dates.ts';
import { catalogName } from '../../../functions/workflow/table.ts';
import type { DocumentedTable } from '../../stack/catalog/table-words.ts';
import { describeClose, describeFinality, type MonthFinality } from '../days/final-days.ts';
import type { ClosedMonth, ComparedMetric } from '../days/ledger-days.ts';
import type { PageDay, PageExport, PageMetric } from '../days/page-contents.ts';
import type { Remedy } from '../days/remedies.ts';
import { toMinute } from '../executions/last-run.ts';
import { formatCount, formatDifference, formatNumber, monthName, nameUnit } from './format.ts';
import { breakable, type Content, copyable, dated, fold, type Html, html, isolate } from './html.ts';

/** Rows of a table that are shown at once; a click shows the others. */
const MAX_ROWS = 8;

interface Table {
  readonly title: string;
  readonly columns: readonly Content[];
  readonly numbers?: readonly number[];
  /** The columns that a phone leaves out. */
  readonly optional?: readonly number[];
}

/** A table that scrolls by itself if it is wider than a phone. Its cells need no end tags. */
export function tabulate(
  { title, columns, numbers = [], optional = [] }: Table,
  rows: readonly (readonly Content[])[],
): Html {
  const kind = (at: number) => {
    const classes = [numbers.includes(at) && 'number', optional.includes(at) && 'optional'].filter(Boolean);
    return classes.length > 0 && html` class="${classes.join(' ')}"`;
  };
  const heads = columns.map((name, at) => html`<th scope=col${kind(at)}>${name}`);
  const cells = (row: readonly Content[]) => row.map((cell, at) => html`<td${kind(at)}>${cell}`);
  return html`<div class=wide role=group tabindex=0 aria-label="${title}"><table>
<thead><tr>${heads}
<tbody>${rows.map((row) => html`<tr>${cells(row)}\n`)}</table></div>`;
}

/** The days that lack something, and the command that mends them. */
export function drawRemedies(remedies: readonly Remedy[], isLocal: boolean): Html {
  const drawRange = (range: Remedy['ranges'][number]) =>
    html`<p><b>${dated(describeDays(range))}</b> ${formatCount(range.days, 'day')}: ${range.reason}</p>`;
  const items = remedies.map(
    ({ ranges, aim, command }) =>
      html`<li>${ranges.map(drawRange)}${drawCommand(command, isLocal, aim)}</li>\n`,
  );
  return html`<ul class=ranges>${items}</ul>`;
}

/** A line for each month, and one for months in a row of which the same is to be said. */
export function drawMonths(
  months: readonly MonthFinality[],
  closed: readonly ClosedMonth[],
  isLocal: boolean,
): Html {
  const lines: { names: string[]; words: string; verify: MonthFinality['verify'] }[] = [];
  for (const month of [...new Set([...months, ...closed].map(({ month }) => month))].sort()) {
    const finality = months.find((judged) => judged.month === month);
    const close = closed.find((closing) => closing.month === month);
    const facts = [finality && describeFinality(finality), close && describeClose(close)];
    const words = facts.filter((fact) => fact !== undefined).join(', ');
    const name = `${monthName(month)} ${month.slice(0, 4)}`;
    const before = lines.at(-1);
    if (before?.words === words && !before.verify && !finality?.verify) before.names.push(name);
    else lines.push({ names: [name], words, verify: finality?.verify });
  }
  const drawn = lines.map(({ names, words, verify }) => {
    const aim = verify && `To read the unverified days again, from ${verify.from} on:`;
    const command = verify && drawCommand(verify.command, isLocal, aim);
    return html`<li><p><b>${names.join(', ')}</b> ${dated(words)}</p>${command}</li>\n`;
  });
  return html`<ul class=ranges>${drawn}</ul>`;
}

/** The newest day first; older days are folded. A correction is beside the value that it led to. */
export function drawDays(metrics: readonly PageMetric[], days: readonly PageDay[]): Html {
  const rows = days
    .toReversed()
    .map((day) => [
      dated(day.date),
      day.rows === undefined ? '–' : formatNumber(day.rows),
      ...metrics.map((metric) => drawValue(metric, day)),
      day.corrections ? formatCount(day.corrections, 'time') : '',
    ]);
  const heads = metrics.map(({ name, unit }) => html`<bdi>${breakable(name)}</bdi> ${nameUnit(unit)}`);
  const columns = ['Day', 'Rows', ...heads, 'Corrected'];
  const numbers = columns.map((_, at) => at).slice(1, -1);
  const table = { title: 'Day by day', columns, numbers, optional: [1, columns.length - 1] };
  const others = rows.slice(MAX_ROWS);
  const continued = { ...table, title: `${table.title}, continued` };
  const isChanged = days.some((day) => metrics.some((metric) => changeOf(metric, day)));
  return html`${isChanged && html`<p class=note>Grey: what changed since the first report of the day.</p>\n`}${tabulate(table, rows.slice(0, MAX_ROWS))}${others.length > 0 && fold(`${others.length} more`, tabulate(continued, others))}`;
}

/** @param shown the metrics of the page, with their units */
export function drawCompared(compared: readonly ComparedMetric[], shown: readonly PageMetric[]): Html {
  const rows = compared.map(({ metric, days, platform_total, difference }) => {
    const { unit } = shown.find(({ name }) => name === metric) ?? {};
    return [
      html`<bdi>${breakable(metric)}</bdi>`,
      days,
      formatNumber(platform_total, unit),
      formatDifference(difference, unit),
    ];
  });
  const columns = ['Metric', 'Days', "The platform's total", 'Rows less total'];
  return tabulate({ title: "The platform's own total", columns, numbers: [1, 2, 3] }, rows);
}

/** How far a day is from what its first report said. */
function changeOf({ name }: Pick<PageMetric, 'name'>, { values, first }: PageDay) {
  const now = values?.[name];
  return now == null ? 0 : now - (first?.[name] ?? now);
}

function drawValue({ name, unit }: PageMetric, day: PageDay): Content {
  const now = day.values?.[name];
  if (now == null) return '–';
  const change = changeOf({ name }, day);
  return [
    change !== 0 && html`<small>${change > 0 && '+'}${formatNumber(change, unit)}</small> `,
    formatNumber(now, unit),
  ];
}

/** The reader of a stack's page may have no terminal. @param aim ends with a colon */
function drawCommand(command: string, isLocal: boolean, aim = 'To see more:'): Html {
  const send = isLocal ? aim : `${aim.replace(/:$/, '')}, send this to whoever runs the exports:`;
  return html`<p class=note>${dated(send)}</p>${copyable(command)}`;
}

export function drawFailure(failure: NonNullable<PageExport['failure']>, isLocal: boolean): Html {
  return html`<div class=failure>
<p><b class=bad>Failed: ${isolate(failure.error)}</b> ${dated(toMinute(failure.at))} UTC</p>
<p>${failure.happened}</p>
<p>${failure.todo}</p>
${failure.command !== undefined && drawCommand(failure.command, isLocal)}
</div>`;
}

/** Objects that cannot be read, and what is lost with each. */
export function drawDamage(damaged: readonly string[]): Html {
  return html`<div class=failure>
<p><b class=bad>Damaged</b></p>
${damaged.map((text) => html`<p>${breakable(text)}</p>\n`)}</div>`;
}

export function drawDictionary(
  { table, description, time_zones, currencies, columns }: DocumentedTable,
  account: string,
): Html {
  const words = columns.map(({ name, type, meaning, unit, adds_up }) => [
    html`<code>${name}</code>`,
    html`<code>${type}</code>`,
    meaning,
    unit,
    adds_up === undefined ? '' : adds_up ? 'yes' : 'no',
  ]);
  return html`<p>${description}</p>
${drawPairs([
  ['Table', catalogName(table)],
  ['Time zone of the days', time_zones[account]],
  ['Currency of the amounts', currencies[account]],
])}
${tabulate({ title: `Columns of ${catalogName(table)}`, columns: ['Column', 'Type', 'Meaning', 'Unit', 'Adds up'] }, words)}`;
}

/** Names with their values, if they have one. */
export function drawPairs(pairs: readonly (readonly [name: string, value: string | undefined])[]): Html {
  const items = pairs.map(
    ([name, value]) => value !== undefined && html`<div><dt>${name}</dt><dd>${dated(value)}</dd></div>`,
  );
  return html`<dl class=facts>${items}</dl>`;
}
