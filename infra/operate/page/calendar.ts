import { STATE_WORDS } from '../days/missing-days.ts';
import type { PageDay } from '../days/page-contents.ts';
import { dayName, formatCount, monthName } from './format.ts';
import { type Html, html } from './html.ts';

type DrawnState = PageDay['state'];

/** The state of a day in words. */
const WORDS: Readonly<Record<DrawnState, string>> = {
  ...STATE_WORDS,
  there: 'with rows',
  empty: 'delivered without rows',
};

/** The states in the order of the legend. */
const LEGEND: readonly DrawnState[] = ['there', 'empty', 'missing', 'behind', 'held', 'older'];

/** In the square of a day. One without has rows, or its square is hollow. */
const MARKS: Readonly<Partial<Record<DrawnState, string>>> = {
  missing: '×',
  behind: '−',
  held: '=',
  older: '‹',
};
const CORRECTED = '•';

/** They have larger days. */
const FEW_MONTHS = 6;

/** The days, a column for each week from Monday and a block for each month, with a legend. */
export function drawCalendar(days: readonly PageDay[]): Html {
  const months = [...Map.groupBy(days, ({ date }) => date.slice(0, 7))];
  const label = `A calendar of the days from ${days[0]?.date} to ${days.at(-1)?.date}. Which days lack something, and why, is said below.`;
  const few = isShort(days) && ' few';
  return html`<div class="months${few}" role=img aria-label="${label}"><div class=weekdays><b>&nbsp;</b><ol><li>Mon<li><li>Wed<li><li>Fri</ol></div>${months.map(drawMonth)}</div>
${drawLegend(days)}`;
}

/** Whether the calendar leaves room beside it. */
export function isShort(days: readonly PageDay[]): boolean {
  return new Set(days.map(({ date }) => date.slice(0, 7))).size <= FEW_MONTHS;
}

/** The end tags of items may be left out, which makes the page of many exports a fifth smaller. */
function drawMonth([month, days]: readonly [month: string, days: readonly PageDay[]], at: number): Html {
  const year = at === 0 || month.endsWith('-01') ? ` ${month.slice(0, 4)}` : '';
  const weekday = new Date(days[0]?.date ?? '').getUTCDay() || 7;
  const before = Array.from({ length: weekday - 1 }, () => html`<li>`);
  return html`<div><b>${monthName(month)}${year}</b><ol>${before}${days.map(drawDay)}</ol></div>
`;
}

function drawDay(day: PageDay): Html {
  const { date, state } = day;
  const kind = classOf(state);
  const mark = MARKS[state] ?? (day.corrections ? CORRECTED : undefined);
  return html`<li${kind && html` class=${kind}`} title="${dayName(date)}: ${describeDay(day)}">${mark}`;
}

/** The style sheet has a colour for each state but one. */
function classOf(state: DrawnState): string | undefined {
  return state === 'there' ? undefined : state;
}

function describeDay({ state, rows, corrections = 0 }: PageDay): string {
  const parts = [
    ...(state === 'there' ? [] : [WORDS[state]]),
    ...(rows ? [formatCount(rows, 'row')] : []),
    ...(corrections > 0 ? [`corrected ${formatCount(corrections, 'time')}`] : []),
  ];
  return parts.join(', ');
}

function drawLegend(days: readonly PageDay[]): Html {
  const item = (
    kind: string | undefined,
    mark: string | undefined,
    daysOfKind: readonly PageDay[],
    words: string,
  ) =>
    daysOfKind.length > 0 && html`<li><i class="day ${kind}">${mark}</i>${daysOfKind.length} ${words}</li>`;
  const states = LEGEND.map((state) => {
    const inState = days.filter((day) => day.state === state);
    // Without a table, nobody knows the rows of a day.
    const isKnown = state !== 'there' || inState.some(({ rows }) => rows !== undefined);
    return item(classOf(state), MARKS[state], inState, isKnown ? WORDS[state] : 'delivered');
  });
  const corrected = days.filter(({ corrections }) => corrections);
  return html`<ul class=legend>${states}${item('', CORRECTED, corrected, 'corrected later')}</ul>`;
}
