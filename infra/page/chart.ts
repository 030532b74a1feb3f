import type { PageExport, PageMetric, PagePoint, PageSums } from './contents.ts';
import { isMoney, monthName, showNumber } from './format.ts';
import { fold, type Html, html, isolate } from './html.ts';
import { tabulate, unitOf } from './tables.ts';

/** Units of the drawings' coordinates: a point is 1 wide. The style sheet gives the sizes on the page. */
const HEIGHT = 100;

/** Dates below a chart: as many as a phone has room for. */
const MAX_DATES = 4;
/** Lines of the axis, and the zero. */
const MAX_LINES = 3;

interface Drawn extends PageMetric {
  /** See {@link unitOf}. */
  readonly unit: string | undefined;
}

/** A chart for each metric, side by side. */
export function drawSums(sums: PageSums, { table, account }: Pick<PageExport, 'table' | 'account'>): Html {
  const { unit, points } = sums;
  const metrics = sums.metrics.map((each) => ({ ...each, unit: unitOf(each.name, table, account) }));
  const partial =
    points.some(isPartial) && html`<li><i class="day partial"></i>only some days of the ${unit}`;
  const gap = points.some(({ known }) => known === 0) && html`<li><i class="day gap"></i>no day in the table`;
  return html`<p class=note>Each metric here adds up over days and dimensions.</p>
${(partial || gap) && html`<ul class=legend>${partial}${gap}</ul>`}
<div class=metrics>${metrics.map((metric) => drawMetric(metric, sums))}</div>
${fold(`The numbers of each ${unit}`, listNumbers(metrics, sums))}`;
}

/** Its sum is low because days are not there, and not because less was spent. */
function isPartial({ known, all }: PagePoint): boolean {
  return known > 0 && known < all;
}

function describePart({ known, all }: PagePoint): string {
  return `only ${known} of ${all} days`;
}

function drawMetric({ name, unit, values, total }: Drawn, { unit: step, points }: PageSums): Html {
  const scale = createScale(values.map(Number));
  const gaps = values.map((value, at) => value === null && `M${at + 0.5} 0V${HEIGHT}`);
  return html`<figure>
<figcaption><b>${isolate(name)}</b> <span class=unit>${nameUnit(unit)} per ${step}</span> <span class=sum>${showNumber(total, unit)}</span></figcaption>
<div class=plot role=img aria-label="${name} for each ${step} from ${points[0]?.start}. The table of the numbers below says the same.">
<div class=axis>${scale.lines.map((line) => html`<span>${compact(line)}</span>`)}</div>
<svg class=bars viewBox="0 0 ${points.length} ${HEIGHT}" preserveAspectRatio="none"><path class=gaps d="${gaps}"/>${scale.lines.map((line) => html`<path class=line d="M0 ${scale.at(line)}H${points.length}"/>`)}${drawBars(values, points, scale)}</svg>
<svg class=dates>${drawDates(points)}</svg>
</div>
</figure>`;
}

function listNumbers(metrics: readonly Drawn[], { unit: step, points }: PageSums): Html {
  const rows = points.map((point, at) => [
    html`${point.start}${isPartial(point) && html` <small>${describePart(point)}</small>`}`,
    ...metrics.map(({ values, unit }) => (values[at] == null ? '–' : showNumber(values[at], unit))),
  ]);
  const columns = ['From', ...metrics.map(({ name, unit }) => html`${isolate(name)} ${nameUnit(unit)}`)];
  const numbers = metrics.map((_, at) => at + 1);
  const sum = ['Sum', ...metrics.map(({ total, unit }) => showNumber(total, unit))];
  return tabulate({ title: `The numbers of each ${step}`, columns, numbers }, [...rows, sum]);
}

interface Scale {
  /** Round numbers, the highest first. */
  readonly lines: readonly number[];
  /** From the top. */
  readonly at: (value: number) => number;
}

/** From zero, or from a round number below the least value, to a round number above the largest one. */
function createScale(values: readonly number[]): Scale {
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = most - least || 1;
  const magnitude = 10 ** Math.floor(Math.log10(span / MAX_LINES));
  const step = [1, 2, 5, 10].map((each) => each * magnitude).find((each) => span / each <= MAX_LINES) ?? span;
  const [low, high] = [Math.floor(least / step), Math.max(Math.ceil(most / step), least < 0 ? 0 : 1)];
  const lines = Array.from({ length: high - low + 1 }, (_, at) => (high - at) * step);
  const at = (value: number) => Math.round((HEIGHT * (high * step - value)) / ((high - low) * step));
  return { lines, at };
}

/** One path of the bars of whole points, and apart from them those of which days are not there, each with its words. */
function drawBars(values: PageMetric['values'], points: readonly PagePoint[], scale: Scale): Html {
  const zero = scale.at(0);
  const barAt = (at: number) => `M${at} ${zero}V${scale.at(Number(values[at]))}h.8V${zero}`;
  const partial = points.map(
    (point, at) =>
      isPartial(point) &&
      html`<path class="bar partial" d="${barAt(at)}"><title>From ${point.start}: ${describePart(point)}</title></path>`,
  );
  const whole = points.map((point, at) => !isPartial(point) && values[at] !== null && barAt(at));
  return html`<path class=bar d="${whole}"/>${partial}`;
}

/** The first days of some points, such as `26 Oct 2026`. */
function drawDates(points: readonly PagePoint[]): Html[] {
  const step = Math.ceil(points.length / MAX_DATES);
  return points.flatMap(({ start }, at) => {
    if (at % step > 0) return [];
    const isNewYear = points[at - step]?.start.slice(0, 4) !== start.slice(0, 4);
    const label = `${Number(start.slice(8))} ${monthName(start)}${isNewYear ? ` ${start.slice(0, 4)}` : ''}`;
    return [html`<text x="${((100 * at) / points.length).toFixed(1)}%" y="12">${label}</text>`];
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
