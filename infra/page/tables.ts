import { describeDays } from '../../functions/workflow/request/dates.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import type { DocumentedTable } from '../catalog/table-words.ts';
import { toMinute } from '../knowledge/executions/last-run.ts';
import { describeClose, describeFinality, type MonthFinality } from '../knowledge/final-days.ts';
import type { ClosedMonth, ComparedMetric } from '../knowledge/ledger-days.ts';
import type { PageDay, PageExport, PageMetric } from '../knowledge/page-contents.ts';
import type { Remedy } from '../knowledge/remedies.ts';
import { count, formatNumber, monthName, nameUnit } from './format.ts';
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
export function drawRemedies(remedies: readonly Remedy[]): Html {
  const drawRange = (range: Remedy['ranges'][number]) =>
    html`<p><b>${dated(describeDays(range))}</b> ${count(range.days, 'day')}: ${range.reason}</p>`;
  const items = remedies.map(
    ({ ranges, command }) => html`<li>${ranges.map(drawRange)}${drawCommand(command)}</li>\n`,
  );
  return html`<ul class=ranges>${items}</ul>`;
}

/** One line for the final months, and one for each of the others with the command that verifies it. */
export function drawMonths(months: readonly MonthFinality[], closed: readonly ClosedMonth[]): Html {
  const nameOf = ({ month }: { readonly month: string }) => `${monthName(month)} ${month.slice(0, 4)}`;
  const draw = (name: string, words: Content, more?: Content) =>
    html`<li><p><b>${name}</b> ${words}</p>${more}</li>\n`;
  const isFinal = (each: MonthFinality) => describeFinality(each) === 'final';
  const final = months.filter(isFinal).map(nameOf).join(', ');
  const drawOther = (each: MonthFinality) => {
    const { command, from = '' } = each.verify ?? {};
    const note = html`<p class=note>To read the unverified days again, from ${dated(from)} on:</p>`;
    return draw(nameOf(each), describeFinality(each), command && [note, drawCommand(command)]);
  };
  const others = months.filter((each) => !isFinal(each)).map(drawOther);
  const closes = closed.map((each) => draw(nameOf(each), dated(describeClose(each))));
  return html`<ul class=ranges>${final && draw(final, 'final')}${others}${closes}</ul>`;
}

/** The newest day first; older days are folded. A correction is beside the value that it led to. */
export function drawDays(metrics: readonly PageMetric[], days: readonly PageDay[]): Html {
  const rows = days
    .toReversed()
    .map((day) => [
      dated(day.date),
      day.rows === undefined ? '–' : formatNumber(day.rows),
      ...metrics.map((metric) => drawValue(metric, day)),
      day.corrections ? count(day.corrections, 'time') : '',
    ]);
  const heads = metrics.map(({ name, unit }) => html`${isolate(name)} ${nameUnit(unit)}`);
  const columns = ['Day', 'Rows', ...heads, 'Corrected'];
  const numbers = columns.map((_, at) => at).slice(1, -1);
  const table = { title: 'Day by day', columns, numbers, optional: [1, columns.length - 1] };
  const others = rows.slice(MAX_ROWS);
  const continued = { ...table, title: `${table.title}, continued` };
  return html`${tabulate(table, rows.slice(0, MAX_ROWS))}${others.length > 0 && fold(`${others.length} more`, tabulate(continued, others))}`;
}

/** @param shown the metrics of the page, with their units */
export function drawCompared(compared: readonly ComparedMetric[], shown: readonly PageMetric[]): Html {
  const rows = compared.map(({ metric, days, platform_total, difference }) => {
    const { unit } = shown.find(({ name }) => name === metric) ?? {};
    return [isolate(metric), days, formatNumber(platform_total, unit), formatNumber(difference)];
  });
  const columns = ['Metric', 'Days', "The platform's total", 'Rows less total'];
  return tabulate({ title: "The platform's own total", columns, numbers: [1, 2, 3] }, rows);
}

function drawValue({ name, unit }: PageMetric, { values, first }: PageDay): Content {
  const now = values?.[name];
  if (now == null) return '–';
  const change = now - (first?.[name] ?? now);
  return [
    change !== 0 && html`<small>${change > 0 && '+'}${formatNumber(change, unit)}</small> `,
    formatNumber(now, unit),
  ];
}

/** The reader of the page may have no terminal. */
function drawCommand(command: string): Html {
  return html`<p class=note>Send this to whoever runs the exports:</p>${copyable(command)}`;
}

export function drawFailure(failure: NonNullable<PageExport['failure']>): Html {
  return html`<div class=failure>
<p><b class=bad>Failed: ${isolate(failure.error)}</b> ${dated(toMinute(failure.at))} UTC</p>
<p>${failure.happened}</p>
<p>${failure.todo}</p>
${failure.command !== undefined && drawCommand(failure.command)}
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
