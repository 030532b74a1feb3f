import { describeDays } from '../../functions/workflow/request/dates.ts';
import { describeEnd, type ExecutionSummary } from '../cli/executions/executions.ts';
import { toMinute } from '../cli/layout.ts';
import type { DocumentedTable } from '../config/table-words.ts';
import { duration } from '../local/step-functions/progress.ts';
import type { PageExport, PageRange, Restatement } from './contents.ts';
import { count, formatNumber } from './format.ts';
import { type Content, copyable, fold, type Html, html, isolate } from './html.ts';

/** Rows of a table that are shown at once; a click shows the others. */
const MAX_ROWS = 8;

interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** The columns that are aligned to the right. */
  readonly numbers?: readonly number[];
}

/** The rows after the first ones are folded. */
function drawTable(table: Table, rows: readonly (readonly Content[])[]): Html {
  return foldRows(rows, (some, place) => tabulate({ ...table, title: table.title + place }, some));
}

/** Draws the first rows, and folds the others. */
function foldRows<Row>(rows: readonly Row[], draw: (some: readonly Row[], place: string) => Html): Html {
  const others = rows.slice(MAX_ROWS);
  const more = others.length > 0 && fold(`${others.length} more`, draw(others, ', continued'));
  return html`${draw(rows.slice(0, MAX_ROWS), '')}${more}`;
}

/** A table that scrolls by itself if it is wider than a phone. Cells need no end tags, which many exports would have many of. */
function tabulate({ title, columns, numbers = [] }: Table, rows: readonly (readonly Content[])[]): Html {
  const kind = (at: number) => (numbers.includes(at) ? html` class=number` : undefined);
  const heads = columns.map((name, at) => html`<th scope=col${kind(at)}>${name}`);
  const cells = (row: readonly Content[]) => row.map((cell, at) => html`<td${kind(at)}>${cell}`);
  return html`<div class=wide role=group tabindex=0 aria-label="${title}"><table>
<thead><tr>${heads}
<tbody>${rows.map((row) => html`<tr>${cells(row)}\n`)}</table></div>`;
}

/** Days with the same reason, and the command that mends them. */
export function drawRanges(ranges: readonly PageRange[]): Html {
  const items = ranges.map(
    (range) =>
      html`<li><b>${describeDays(range)}</b> ${count(range.days, 'day')}: ${range.reason}${copyable(range.command)}</li>
`,
  );
  const list = (some: readonly Html[]) => html`<ul class=ranges>${some}</ul>`;
  return foldRows(items, list);
}

export function drawRestatements(restatements: readonly Restatement[], older: number): Html {
  const rows = restatements.map(({ date, metric, before, after, at }) => [
    date,
    metric,
    before === undefined ? '–' : formatNumber(before),
    formatNumber(after),
    before === undefined ? '' : describeDifference(Number(after) - Number(before)),
    toMinute(at),
  ]);
  const columns = ['Day', 'Metric', 'Before', 'After', 'Difference', 'Changed at (UTC)'];
  const table = drawTable({ title: 'Restatements', columns, numbers: [2, 3, 4] }, rows);
  return html`${table}${older > 0 && html`<p class=note>${count(older, 'older restatement')} not shown.</p>`}`;
}

/** A difference of doubles has digits that say nothing, so it has six after the point at most. */
function describeDifference(difference: number): string {
  const text = formatNumber(difference.toFixed(6));
  return difference > 0 ? `+${text}` : text;
}

export function drawExecutions(executions: readonly ExecutionSummary[]): Html {
  const rows = executions.map((run) => [
    run.ended_at === undefined ? `began ${toMinute(run.started_at ?? '')}` : toMinute(run.ended_at),
    html`<span class="${run.outcome === 'delivered' || run.outcome === 'running' ? '' : 'bad'}">${describeEnd(run)}</span>`,
    run.start_date && run.end_date
      ? describeDays({ start_date: run.start_date, end_date: run.end_date })
      : '–',
    run.seconds === undefined ? '–' : duration(run.seconds * 1000),
    html`<code>${run.execution}</code>`,
  ]);
  const columns = ['Ended (UTC)', 'End', 'Days', 'Took', 'Execution'];
  return drawTable({ title: 'Last runs', columns, numbers: [3] }, rows);
}

export function drawFailure(failure: NonNullable<PageExport['failure']>): Html {
  const at = failure.at === '' ? undefined : html`${toMinute(failure.at)} UTC`;
  return html`<div class=failure>
<p><b>Failed: ${isolate(failure.error)}</b> ${at}</p>
<p>${failure.happened}</p>
<p>${failure.todo}</p>
${copyable(failure.command)}
</div>`;
}

export function drawDictionary(
  { table, description, time_zones, currencies, columns }: DocumentedTable,
  account: string,
): Html {
  const words = columns.map(({ name, type, meaning, unit, adds_up }) => [
    html`<code>${name}</code>`,
    html`<code>${type}</code>`,
    meaning,
    unit ?? '',
    adds_up === undefined ? '' : adds_up ? 'yes' : 'no',
  ]);
  return html`<p>${description}</p>
${drawPairs([
  ['Table', table],
  ['Time zone of the days', time_zones[account]],
  ['Currency of the amounts', currencies[account]],
])}
${tabulate({ title: `Columns of ${table}`, columns: ['Column', 'Type', 'Meaning', 'Unit', 'Adds up'] }, words)}`;
}

/** Names with their values, if they have one. */
export function drawPairs(pairs: readonly (readonly [name: string, value: string | undefined])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined);
  const items = known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class=facts>${items}</dl>`;
}
