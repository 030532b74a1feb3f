import type { PageMetric, PageSums } from './contents.ts';
import { count, isMoney, monthName, shortNumber, showNumber } from './format.ts';
import { breakable, type Content, fold, type Html, html, isolate } from './html.ts';

/** Units of the drawings' coordinates: a point is 1 wide. The style sheet gives the sizes on the page. */
const TALL = 100;
const LOW = 24;

/** Dates below a chart: as many as a phone has room for. */
const MAX_DATES = 4;
/** Months from one date to the next. */
const MONTH_STEPS = [1, 2, 3, 6, 12];
/** Lines of the axis, and the zero. */
const MAX_LINES = 3;

/** The metrics side by side. Each has a chart of its sum, and a row for each value of the dimension with a small one. */
export function drawSums(sums: PageSums): Html {
  return html`${explainPoints(sums)}<div class=metrics>${sums.metrics.map((metric) => drawMetric(metric, sums))}</div>
${fold(`The numbers of each ${sums.unit}`, tabulate(sums))}`;
}

/** Words of a legend name so many points at most. */
const MAX_NAMED = 3;

/** A legend of the points that have only some of their days, or none. */
function explainPoints({ unit, starts, days }: PageSums): Html {
  const partial = starts.filter((_, at) => isPartial(days[at]));
  const named = partial
    .slice(0, MAX_NAMED)
    .map((start) => `${describePart(days[starts.indexOf(start)])} from ${start}`);
  const others =
    partial.length > MAX_NAMED ? `, and ${count(partial.length - MAX_NAMED, `other ${unit}`)}` : '';
  const gap = days.some(({ known }) => known === 0);
  return html`${partial.length > 0 && html`<p class=note><i class="key partial"></i>${named.join(', ')}${others}: not a whole ${unit}</p>`}
${gap && html`<p class=note><i class="key gap"></i>no day in the table</p>`}
<p class=note>Each metric here adds up over days and dimensions.</p>`;
}

type Days = PageSums['days'][number] | undefined;

/** Its sum is low because days are not there, and not because less was spent. */
function isPartial(days: Days): boolean {
  return days !== undefined && days.known > 0 && days.known < days.all;
}

function describePart(days: Days): string {
  return `only ${days?.known} of ${days?.all} days`;
}

function drawMetric(metric: PageMetric, sums: PageSums): Html {
  const { name, unit, values, total } = metric;
  const points = values.map(toNumber);
  const scale = createScale(points);
  return html`<figure>
<figcaption><b>${isolate(name)}</b> <span class=unit>${nameUnit(unit)} per ${sums.unit}</span> <span class=sum>${shortNumber(total, unit)}</span></figcaption>
<div class=plot role=img aria-label="${name} for each ${sums.unit} from ${sums.starts[0]}. The table of the numbers below says the same.">
<div class=axis>${scale.lines.map((line) => html`<span>${compact(line)}</span>`)}</div>
<svg class=bars viewBox="0 0 ${points.length} ${TALL}" preserveAspectRatio="none"><path class=gaps d="${drawGaps(points)}"/>${scale.lines.map((line) => html`<path class=line d="M0 ${scale.at(line, TALL)}H${points.length}"/>`)}${drawBars(points, sums, scale, TALL)}</svg>
<svg class=dates>${pickDates(sums)}</svg>
</div>
${sums.dimension === undefined ? undefined : drawSeries(metric, sums)}
</figure>`;
}

/** A row for each value of the dimension: bars on one scale for all of them, and its sum. */
function drawSeries({ series, unit }: PageMetric, sums: PageSums): Html {
  const numbers = series.map(({ values }) => values.map(toNumber));
  const scale = createScale(numbers.flat());
  const rows = series.map(({ label, others, total }, at) => {
    const points = numbers[at] ?? [];
    const name = others ? html`<i>${label}</i>` : isolate(label);
    return html`<tr><th scope=row>${name}<td><svg class=spark viewBox="0 0 ${points.length} ${LOW}" preserveAspectRatio="none" aria-hidden=true>${drawBars(points, sums, scale, LOW)}</svg><td class=number>${shortNumber(total, unit)}
`;
  });
  return html`<table class=series><thead><tr><th scope=col><bdi>${breakable(sums.dimension ?? '')}</bdi><th scope=col class=over-time>Over time<th scope=col class=number>Sum<tbody>
${rows}</table>`;
}

/** The numbers of all charts. Cells need no end tags, which many exports would have many of. */
function tabulate({ unit: step, starts, days, metrics }: PageSums): Html {
  const groups = metrics.map(
    ({ name, unit, series }) =>
      html`<th scope=colgroup colspan="${series.length > 1 ? series.length + 1 : 1}"><span>${isolate(name)} ${nameUnit(unit)}</span>`,
  );
  const all = metrics.flatMap(columnsOf);
  const labels = all.map(({ label }) => html`<th scope=col>${label}`);
  const rows = starts.map((start, at) => {
    const cells = all.map(({ values, unit }) => html`<td>${describeValue(values[at], unit)}`);
    const part = isPartial(days[at]) && html` <small>${describePart(days[at])}</small>`;
    return html`<tr><th>${start}${part}${cells}\n`;
  });
  return html`<div class=wide role=group tabindex=0 aria-label="The numbers of each ${step}"><table class=numbers>
<thead><tr><td>${groups}<tr><th scope=col>From${labels}
<tbody>${rows}<tr><th>Sum${all.map(({ total, unit }) => html`<td>${showNumber(total, unit)}`)}
</table></div>`;
}

/** A column for each series, and one for all of them. */
function columnsOf({ unit, series, values, total }: PageMetric) {
  const own = series.map((each) => ({ ...each, label: isolate(each.label), unit }));
  return series.length > 1 ? [...own, { label: html`Total`, values, total, unit }] : own;
}

function describeValue(value: string | null | undefined, unit: string | undefined): Content {
  return value === null || value === undefined ? '–' : showNumber(value, unit);
}

type Point = number | null;

function toNumber(value: string | null): Point {
  return value === null ? null : Number(value);
}

interface Scale {
  /** Round numbers, the highest first. */
  readonly lines: readonly number[];
  /** From the top. */
  readonly at: (value: number, height: number) => number;
}

/** From zero, or from a round number below the least value, to a round number above the largest one. */
function createScale(points: readonly Point[]): Scale {
  const known = points.filter((point) => point !== null);
  const [least, most] = [Math.min(0, ...known), Math.max(0, ...known)];
  const span = most - least || 1;
  const magnitude = 10 ** Math.floor(Math.log10(span / MAX_LINES));
  const step = [1, 2, 5, 10].map((each) => each * magnitude).find((each) => span / each <= MAX_LINES) ?? span;
  const [low, high] = [Math.floor(least / step), Math.max(Math.ceil(most / step), least < 0 ? 0 : 1)];
  const lines = Array.from({ length: high - low + 1 }, (_, at) => (high - at) * step);
  const at = (value: number, height: number) =>
    Math.round((height * (high * step - value)) / ((high - low) * step));
  return { lines, at };
}

/** The bars of whole points, and apart from them those of which days are not there, each with its words. */
function drawBars(points: readonly Point[], sums: PageSums, scale: Scale, height: number): Html {
  const { starts, days } = sums;
  const isOnly = (wanted: boolean) =>
    points.map((point, at) => (isPartial(days[at]) === wanted ? point : null));
  const zero = scale.at(0, height);
  const partial = isOnly(true).map((point, at) => {
    if (point === null) return undefined;
    const words = height === TALL && html`<title>From ${starts[at]}: ${describePart(days[at])}</title>`;
    return html`<path class="bar partial" d="M${at} ${zero}V${scale.at(point, height)}h1V${zero}z">${words}</path>`;
  });
  return html`<path class=bar d="${outline(isOnly(false), scale, height)}"/>${partial}`;
}

/** One outline of bars that touch: its first half goes along their ends. Its steps are short, because many pages have many. */
function outline(points: readonly Point[], scale: Scale, height: number): Content {
  const zero = scale.at(0, height);
  let from = zero;
  const steps: string[] = [];
  for (let at = 0, next = 0; at < points.length; at = next) {
    const to = scale.at(points[at] ?? 0, height);
    while (next < points.length && scale.at(points[next] ?? 0, height) === to) next++;
    steps.push(`${to === from ? '' : `v${to - from}`}h${next - at}`);
    from = to;
  }
  return [`M0 ${zero}`, ...steps, `V${zero}z`];
}

function drawGaps(points: readonly Point[]): Content {
  return points.map((point, at) => (point === null ? `M${at + 0.5} 0V${TALL}` : ''));
}

/** Dates below the chart: the first days of months, if there are three or more, or else days. */
function pickDates({ starts }: PageSums): Html[] {
  const number = (at: number) => Number(starts[at]?.slice(5, 7)) - 1;
  const begins = (at: number) => (at === 0 ? starts[0]?.endsWith('-01') : number(at) !== number(at - 1));
  const all = starts.map((_, at) => at);
  const months = all.filter(begins);
  const isLong = months.length > 2;
  const every = MONTH_STEPS.find((step) => months.length / step <= MAX_DATES) ?? 12;
  const days = Math.ceil(starts.length / MAX_DATES);
  const picked = isLong
    ? months.filter((at) => number(at) % every === 0)
    : all.filter((at) => at % days === 0);
  return picked.map((at, place) => {
    const date = starts[at] ?? '';
    const year = place === 0 || number(at) === 0 ? ` ${date.slice(0, 4)}` : '';
    const label = isLong ? monthName(date) + year : `${Number(date.slice(8))} ${monthName(date)}`;
    const isLast = at > 0.8 * starts.length;
    const anchor = isLast ? html` text-anchor="end"` : undefined;
    const x = (100 * (at + (isLast ? 1 : 0))) / starts.length;
    return html`<text x="${x.toFixed(1)}%" y="12"${anchor}>${label}</text>`;
  });
}

const compactly = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** 50000 is `50K`. */
function compact(value: number): string {
  return compactly.format(value);
}

/** `(EUR)` beside the metric's name. Counts have none. */
function nameUnit(unit: string | undefined): string {
  if (!isMoney(unit)) return '';
  return unit === 'money' ? '(currency not set)' : `(${unit})`;
}
