import { LACKS, type Lack, lackOf } from '../cli/days/missing.ts';
import type { PageDay, PageExport } from './contents.ts';
import { count, formatNumber, monthName } from './format.ts';
import { fold, type Html, html } from './html.ts';

type State = PageDay['state'];

/** In the order of the legend. The style sheet has a mark and a colour for each: `.rows`, `.absent` … */
const WORDS: Readonly<Record<State, string>> = {
  rows: 'with rows',
  empty: 'delivered without rows',
  running: 'being exported now',
  held: 'held: the newest report has no rows, the table keeps its own',
  not_renewed: 'shown, but a newer export of it failed',
  not_in_table: 'not in the table, but exported',
  unfinished: 'missing: exported before the day was over',
  unannounced: 'missing: in the table, but a run ended before its manifest',
  other_request: 'missing: exported by another request',
  failed: 'missing: not exported, the last export of it failed',
  absent: 'missing: not exported',
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

/** The days, a column for each week from Monday and a block for each month, with a legend and a table of the months. */
export function drawCalendar(days: readonly PageDay[]): Html {
  const months = [...Map.groupBy(days, ({ date }) => date.slice(0, 7))];
  const [first, last] = [days[0]?.date, days.at(-1)?.date];
  const label = `A calendar of the days from ${first} to ${last}. The table of the months below says the same.`;
  const few = months.length <= FEW_MONTHS && html` few`;
  return html`<div class="months${few}" role=img aria-label="${label}"><div class=weekdays><i>Mon</i><i>Wed</i><i>Fri</i></div>${months.map(drawMonth)}</div>
${drawLegend(days)}
${fold('Days by month', tabulateMonths(months))}`;
}

type Month = readonly [month: string, days: readonly PageDay[]];

/** The end tags of items may be left out, which makes the page of many exports a fifth smaller. */
function drawMonth([month, days]: Month, at: number): Html {
  const year = at === 0 || month.endsWith('-01') ? ` ${month.slice(0, 4)}` : '';
  return html`<div><b>${monthName(month)}${year}</b><ol class="from-${weekday(days[0]?.date)}">${days.map(drawDay)}</ol></div>
`;
}

function drawDay(day: PageDay): Html {
  const { date, state, restated } = day;
  const names = [...(state === 'rows' ? [] : [state]), ...(restated > 0 ? ['restated'] : [])].join(' ');
  const marks = names === '' ? undefined : html` class="${names}"`;
  return html`<li${marks} title="${Number(date.slice(8))} ${monthName(date)}: ${describeDay(day)}">`;
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
    return many ? [html`<li><i class="day ${state}"></i>${many} ${WORDS[state]}</li>`] : [];
  });
  const restated = days.filter((day) => day.restated > 0).length;
  const mark = html`<li><i class="day rows restated"></i>${restated} corrected later</li>`;
  return html`<ul class=legend>${states}${restated > 0 ? mark : undefined}</ul>`;
}

function tabulateMonths(months: readonly Month[]): Html {
  const present = STATES.filter((state) =>
    months.some(([, days]) => days.some((day) => day.state === state)),
  );
  const rows = months.map(([month, days]) => {
    const counts = countBy(days);
    const sum = days.reduce((total, day) => total + (day.rows ?? 0), 0);
    const restated = days.filter((day) => day.restated > 0).length;
    const numbers = [days.length, ...present.map((state) => counts.get(state) ?? 0), restated, sum];
    return html`<tr><th scope=row>${month}${numbers.map((each) => html`<td>${formatNumber(String(each))}`)}
`;
  });
  const states = present.map((state) => WORDS[state]);
  const heads = ['days', ...states, 'corrected later', 'rows'];
  return html`<div class=wide role=group tabindex=0 aria-label="Days by month"><table class=numbers><thead><tr><th scope=col>month${heads.map((each) => html`<th scope=col>${each}`)}<tbody>
${rows}</table></div>`;
}

function countBy(days: readonly PageDay[]): Map<State, number> {
  const groups = Map.groupBy(days, ({ state }) => state);
  return new Map([...groups].map(([state, each]) => [state, each.length]));
}

/** 1 is Monday. */
function weekday(date = ''): number {
  return new Date(date).getUTCDay() || 7;
}
