import { LACKS, type Lack, lackOf } from '../knowledge/missing-days.ts';
import type { PageDay, PageExport } from './contents.ts';
import { count, monthName } from './format.ts';
import { type Html, html } from './html.ts';

type State = PageDay['state'];

/** In the order of the legend. The style sheet has a colour for each: `.rows`, `.absent` … */
const WORDS: Readonly<Record<State, string>> = {
  rows: 'with rows',
  empty: 'delivered without rows',
  running: 'being exported now',
  held: 'held: the newest report has no rows, the table keeps its own',
  not_renewed: 'shown, but a newer export of it failed',
  not_in_table: 'not in the table, but exported',
  unfinished: 'missing: exported before the day was over',
  unannounced: 'missing: in the table, but a run ended before its manifest',
  older_request: 'as an older request exported it',
  other_request: 'missing: exported by another request',
  failed: 'missing: not exported, the last export of it failed',
  absent: 'missing: not exported',
};

/** In the square of a day. One without has rows, or its square is hollow. */
const MARKS: Readonly<Partial<Record<State | 'restated', string>>> = {
  running: '›',
  held: '=',
  unfinished: '~',
  not_renewed: '↻',
  not_in_table: '−',
  unannounced: '?',
  older_request: '‹',
  other_request: '≠',
  failed: '!',
  absent: '×',
  restated: '•',
};

/** They have larger days. */
const FEW_MONTHS = 6;

const STATES = Object.keys(WORDS) as readonly State[];

/** Days by what they lack, as `missing` counts them, but for days that an execution exports now. */
export interface DayCounts extends Readonly<Record<Lack, number>> {
  readonly days: number;
  readonly running: number;
}

/** @returns undefined if the export has no days, or if they are not known */
export function countDays({ days }: Pick<PageExport, 'days'>): DayCounts | undefined {
  if (!days) return undefined;
  const states = countBy(days);
  const of = (lack: Lack) =>
    [...states].reduce((sum, [state, many]) => (lackIn(state) === lack ? sum + many : sum), 0);
  const counts = Object.fromEntries(LACKS.map((lack) => [lack, of(lack)])) as Record<Lack, number>;
  return { days: days.length, ...counts, running: states.get('running') ?? 0 };
}

function lackIn(state: State): Lack | undefined {
  return state === 'rows' || state === 'empty' || state === 'running' ? undefined : lackOf(state);
}

/** The days, a column for each week from Monday and a block for each month, with a legend. */
export function drawCalendar(days: readonly PageDay[]): Html {
  const months = [...Map.groupBy(days, ({ date }) => date.slice(0, 7))];
  const [first, last] = [days[0]?.date, days.at(-1)?.date];
  const label = `A calendar of the days from ${first} to ${last}. Which days lack something, and why, is said below.`;
  const few = months.length <= FEW_MONTHS && html` few`;
  return html`<div class="months${few}" role=img aria-label="${label}"><div class=weekdays><b>&nbsp;</b><ol><li>Mon<li><li>Wed<li><li>Fri</ol></div>${months.map(drawMonth)}</div>
${drawLegend(days)}`;
}

type Month = readonly [month: string, days: readonly PageDay[]];

/** The end tags of items may be left out, which makes the page of many exports a fifth smaller. */
function drawMonth([month, days]: Month, at: number): Html {
  const year = at === 0 || month.endsWith('-01') ? ` ${month.slice(0, 4)}` : '';
  const weekday = new Date(days[0]?.date ?? '').getUTCDay() || 7;
  const before = Array.from({ length: weekday - 1 }, () => html`<li>`);
  return html`<div><b>${monthName(month)}${year}</b><ol>${before}${days.map(drawDay)}</ol></div>
`;
}

function drawDay(day: PageDay): Html {
  const { date, state, restated } = day;
  const kind = state !== 'rows' && html` class=${state}`;
  const mark = MARKS[state] ?? (restated > 0 && MARKS.restated);
  return html`<li${kind} title="${Number(date.slice(8))} ${monthName(date)}: ${describeDay(day)}">${mark}`;
}

function describeDay({ state, rows, restated }: PageDay): string {
  const parts = [
    ...(state === 'rows' ? [] : [WORDS[state]]),
    ...(rows ? [count(rows, 'row')] : []),
    ...(restated > 0 ? [`corrected ${restated === 1 ? 'once' : count(restated, 'time')}`] : []),
  ];
  return parts.join(', ');
}

function drawLegend(days: readonly PageDay[]): Html {
  const counts = countBy(days);
  const states = STATES.flatMap((state) => {
    const many = counts.get(state);
    return many ? [html`<li><i class="day ${state}">${MARKS[state]}</i>${many} ${WORDS[state]}</li>`] : [];
  });
  const restated = days.filter((day) => day.restated > 0).length;
  const mark = html`<li><i class="day rows">${MARKS.restated}</i>${restated} corrected later</li>`;
  return html`<ul class=legend>${states}${restated > 0 ? mark : undefined}</ul>`;
}

function countBy(days: readonly PageDay[]): Map<State, number> {
  const groups = Map.groupBy(days, ({ state }) => state);
  return new Map([...groups].map(([state, each]) => [state, each.length]));
}
