import type { PageMetric, PageSums } from './contents.ts';
import { formatNumber, monthName } from './format.ts';
import { copyable, type Html, html } from './html.ts';

/** Units of the drawings' coordinates: a point is 1 wide. The style sheet gives the sizes on the page. */
const TALL = 200;
const LOW = 40;

/** Dates below a chart: as many as a phone has room for. */
const MAX_DATES = 4;
/** Lines of the axis, and the zero. */
const MAX_LINES = 3;

/** The metrics side by side. Each has a chart of its sum, and a row for each value of the dimension with a small one. */
export function drawSums(sums: PageSums, query: string | undefined): Html {
  return html`<div class=metrics>${sums.metrics.map((metric) => drawMetric(metric, sums))}</div>
<details><summary>The numbers of each ${sums.unit}</summary>${sums.metrics.map((metric) => tabulate(metric, sums))}</details>
${query === undefined ? undefined : html`<details><summary>Query these sums</summary>${copyable(query)}</details>`}`;
}

function drawMetric(metric: PageMetric, sums: PageSums): Html {
  const { name, unit, series, total } = metric;
  const points = sumUp(metric, sums.starts.length);
  const scale = createScale(points);
  const gaps = points.some((point) => point === null);
  return html`<figure>
<figcaption><b>${name}</b> ${nameUnit(unit)} <span class=sum>${formatNumber(total)}</span></figcaption>
<div class=plot role=img aria-label="${name} for each ${sums.unit} from ${sums.starts[0]}. The table of the numbers below says the same.">
<div class=axis>${scale.lines.map((line) => html`<span>${compact(line)}</span>`)}</div>
<svg class=bars viewBox="0 0 ${points.length} ${TALL}" preserveAspectRatio="none"><path class=gaps d="${drawGaps(points)}"/>${scale.lines.map((line) => html`<path class=line d="M0 ${scale.at(line, TALL)}H${points.length}"/>`)}<path class=bar d="${drawBars(points, scale, TALL)}"/></svg>
<svg class=dates>${pickDates(sums).map(([at, date]) => html`<text x="${percent(at, points.length)}" y="12">${date}</text>`)}</svg>
</div>
${gaps ? html`<p class=note><i class=gap></i>no day in the table</p>` : undefined}
${sums.dimension === undefined ? undefined : drawSeries(series, sums.dimension)}
</figure>`;
}

/** A row for each value of the dimension: bars on one scale for all of them, and its sum. */
function drawSeries(series: PageMetric['series'], dimension: string): Html {
  const numbers = series.map(({ values }) => values.map(toNumber));
  const scale = createScale(numbers.flat());
  const rows = series.map(({ label, others, total }, at) => {
    const points = numbers[at] ?? [];
    const name = others ? html`<i>${label}</i>` : html`<bdi>${label}</bdi>`;
    return html`<tr><th scope=row>${name}<td><svg class=spark viewBox="0 0 ${points.length} ${LOW}" preserveAspectRatio="none" aria-hidden=true><path class=bar d="${drawBars(points, scale, LOW)}"/></svg><td class=number>${formatNumber(total)}
`;
  });
  return html`<table class=series><thead><tr><th scope=col>${dimension}<th scope=col class=over-time>over time<th scope=col class=number>sum<tbody>
${rows}</table>`;
}

function tabulate({ name, unit, series }: PageMetric, { starts, unit: step }: PageSums): Html {
  const rows = starts.map((start, at) => {
    const values = series.map(({ values }) => values[at]);
    return html`<tr><th scope=row>${start}${values.map((value) => html`<td>${value == null ? '–' : formatNumber(value)}`)}
`;
  });
  const title = `${name} ${unit ?? ''}`;
  return html`<div class=wide role=region tabindex=0 aria-label="${title}"><table class=numbers><caption>${title}</caption><thead><tr><th scope=col>${step}${series.map(({ label }) => html`<th scope=col><bdi>${label}</bdi>`)}<tbody>
${rows}</table></div>`;
}

type Point = number | null;

function toNumber(value: string | null): Point {
  return value === null ? null : Number(value);
}

/** The sum of all series at each point; null if none has it. */
function sumUp({ series }: PageMetric, length: number): Point[] {
  return Array.from({ length }, (_, at) => {
    const known = series.flatMap(({ values }) => toNumber(values[at] ?? null) ?? []);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });
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

/** One path of strokes as wide as a point: each goes from zero to its value. */
function drawBars(points: readonly Point[], scale: Scale, height: number): string {
  const zero = scale.at(0, height);
  let [path, right, down] = [`M-.5 ${zero}`, 0, 0];
  for (const point of points) {
    right += 1;
    const length = point === null ? 0 : scale.at(point, height) - zero;
    if (length === 0) continue;
    path += `m${right} ${-down}v${length}`;
    [right, down] = [0, length];
  }
  return path;
}

function drawGaps(points: readonly Point[]): string {
  return points.map((point, at) => (point === null ? `M${at + 0.5} 0V${TALL}` : '')).join('');
}

/** Dates below the chart: the first days of months, if there are two or more, or else days. */
function pickDates({ starts, unit }: PageSums): (readonly [at: number, label: string])[] {
  const isNewMonth = (date: string, at: number) => at > 0 && date.slice(0, 7) !== starts[at - 1]?.slice(0, 7);
  const months = starts.flatMap((date, at) => (isNewMonth(date, at) || date.endsWith('-01') ? [at] : []));
  const isLong = unit !== 'day' || months.length > 2;
  const candidates = isLong ? months : starts.map((_, at) => at);
  const every = Math.ceil(candidates.length / MAX_DATES);
  return candidates
    .filter((_, place) => place % every === 0)
    .map((at, place) => {
      const date = starts[at] ?? '';
      const year = place === 0 || date.slice(5, 7) === '01' ? ` ${date.slice(0, 4)}` : '';
      return [
        at,
        isLong ? `${monthName(date)}${year}` : `${Number(date.slice(8))} ${monthName(date)}`,
      ] as const;
    });
}

function percent(part: number, whole: number): string {
  return `${Math.round((1000 * part) / whole) / 10}%`;
}

const compactly = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** 50000 is `50K`. */
function compact(value: number): string {
  return compactly.format(value);
}

function nameUnit(unit: string | undefined): string {
  return unit === undefined || unit === 'count' || unit === 'number' ? '' : unit;
}
