import { describeDays } from '../../functions/workflow/request/dates.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import type { DocumentedTable } from '../config/table-words.ts';
import { describeEnd, type ExecutionSummary, toMinute } from '../knowledge/executions/executions.ts';
import { duration } from '../local/step-functions/progress.ts';
import type { PageExport, PageRange } from './contents.ts';
import { count, isMoney, showNumber } from './format.ts';
import { breakable, type Content, copyable, dated, fold, type Html, html, isolate } from './html.ts';

/** Rows of a table that are shown at once; a click shows the others. */
const MAX_ROWS = 8;

interface Table {
  readonly title: string;
  readonly columns: readonly Content[];
  /** The columns that are aligned to the right. */
  readonly numbers?: readonly number[];
  /** The columns that a phone leaves out. */
  readonly optional?: readonly number[];
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
export function tabulate(
  { title, columns, numbers = [], optional = [] }: Table,
  rows: readonly (readonly Content[])[],
): Html {
  const kind = (at: number) => {
    const classes = [
      ...(numbers.includes(at) ? ['number'] : []),
      ...(optional.includes(at) ? ['optional'] : []),
    ];
    return classes.length > 0 && html` class="${classes.join(' ')}"`;
  };
  const heads = columns.map((name, at) => html`<th scope=col${kind(at)}>${name}`);
  const cells = (row: readonly Content[]) => row.map((cell, at) => html`<td${kind(at)}>${cell}`);
  return html`<div class=wide role=group tabindex=0 aria-label="${title}"><table>
<thead><tr>${heads}
<tbody>${rows.map((row) => html`<tr>${cells(row)}\n`)}</table></div>`;
}

/** Days with the same reason, below them the command that mends them. */
export function drawRanges(ranges: readonly PageRange[]): Html {
  const items = [...Map.groupBy(ranges, ({ command }) => command)].map(([command, own]) => {
    const lines = own.map(
      (range) =>
        html`<p><b>${dated(describeDays(range))}</b> ${count(range.days, 'day')}: ${range.reason}</p>`,
    );
    return html`<li>${lines}${drawCommand(command)}</li>
`;
  });
  const list = (some: readonly Html[]) => html`<ul class=ranges>${some}</ul>`;
  return foldRows(items, list);
}

/** A row for each day and metric. */
export function drawCorrections({ restatements, older_restatements, table, account }: PageExport): Html {
  const rows = restatements.map(({ date, metric, first, now, corrections, at }) => {
    const show = (decimal: string | undefined) =>
      decimal === undefined ? '–' : showNumber(decimal, unitOf(metric, table, account));
    // A difference of doubles has digits that say nothing.
    const difference = Number(now) - Number(first);
    const isKnown = !Number.isNaN(difference);
    return [
      dated(date),
      breakable(metric),
      isKnown && [difference > 0 && '+', show(difference.toFixed(6))],
      show(first),
      show(now),
      corrections,
      dated(toMinute(at)),
    ];
  });
  const columns = ['Day', 'Metric', 'Difference', 'First', 'Now', 'Corrections', 'Last corrected at (UTC)'];
  const layout = { title: 'Corrected later', columns, numbers: [2, 3, 4, 5], optional: [5, 6] };
  const older =
    older_restatements > 0 &&
    html`<p class=note>${count(older_restatements, 'older correction')} not shown.</p>`;
  return html`${drawTable(layout, rows)}${older}`;
}

/** `count`, a currency such as `EUR`, or `money` if the config names no currency; undefined if it is not known. */
export function unitOf(
  metric: string,
  table: DocumentedTable | undefined,
  account: string,
): string | undefined {
  const { unit } = table?.columns.find(({ name }) => name === metric) ?? {};
  return isMoney(unit) ? (table?.currencies[account] ?? 'money') : unit;
}

export function drawExecutions(executions: readonly ExecutionSummary[]): Html {
  const rows = executions.map((run) => [
    dated(run.ended_at === undefined ? `began ${toMinute(run.started_at ?? '')}` : toMinute(run.ended_at)),
    html`<span class="${run.outcome === 'delivered' || run.outcome === 'running' ? '' : 'bad'}">${breakable(describeEnd(run))}</span>`,
    run.start_date && run.end_date
      ? dated(describeDays({ start_date: run.start_date, end_date: run.end_date }))
      : '–',
    run.seconds === undefined ? '–' : duration(run.seconds * 1000),
    html`<code>${run.execution}</code>`,
  ]);
  const columns = ['Ended (UTC)', 'Result', 'Days', 'Took', 'Execution'];
  return drawTable({ title: 'Last runs', columns, numbers: [3], optional: [4] }, rows);
}

/** The reader of the page may have no terminal. */
function drawCommand(command: string): Html {
  return html`<p class=note>Send this to whoever runs the exports:</p>${copyable(command)}`;
}

export function drawFailure(failure: NonNullable<PageExport['failure']>): Html {
  const at = failure.at === '' ? undefined : html`${dated(toMinute(failure.at))} UTC`;
  return html`<div class=failure>
<p><b class=bad>Failed: ${isolate(failure.error)}</b> ${at}</p>
<p>${failure.happened}</p>
<p>${failure.todo}</p>
${drawCommand(failure.command)}
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
  ['Table', catalogName(table)],
  ['Time zone of the days', time_zones[account]],
  ['Currency of the amounts', currencies[account]],
])}
${tabulate({ title: `Columns of ${catalogName(table)}`, columns: ['Column', 'Type', 'Meaning', 'Unit', 'Adds up'] }, words)}`;
}

/** Names with their values, if they have one. */
export function drawPairs(pairs: readonly (readonly [name: string, value: string | undefined])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined);
  const items = known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${dated(value ?? '')}</dd></div>`);
  return html`<dl class=facts>${items}</dl>`;
}
