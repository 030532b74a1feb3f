import type { CurvePoint } from '../days/ledger-days.ts';
import type { PageDay, PageMetric } from '../days/page-contents.ts';
import { dayName, formatCount, formatNumber, nameUnit } from './format.ts';
import { type Html, html, isolate } from './html.ts';

/** Units of the drawings' coordinates: a day is 1 wide. The style sheet gives the sizes on the page. */
const HEIGHT = 100;

/** Labels below a chart: as many as a phone has room for. */
const MAX_LABELS = 4;

/** Older days hardly change. */
const MAX_AGE = 60;

/** Lines of the axis, and the zero. */
const MAX_LINES = 3;

/** A bar for each day, and a stripe for a day without a value. */
export function drawChart({ name, unit }: PageMetric, days: readonly PageDay[]): Html {
  const values = days.map((day) => day.values?.[name] ?? undefined);
  const sum = values.reduce((total: number, value) => total + (value ?? 0), 0);
  const caption = html`<b>${isolate(name)}</b> <span class=unit>${`${nameUnit(unit)} per day`.trim()}</span> <span class=sum>${formatNumber(sum, unit)}</span>`;
  const label = `${name} for each day from ${days[0]?.date}. The table below says the same.`;
  return drawBars(caption, label, values, (at) => dayName(days[at]?.date ?? ''));
}

/** The restatement curve of a metric: in percent, a bar for each age, or a stripe if nothing was read. */
export function drawCurve(name: string, points: readonly CurvePoint[]): Html {
  const shares = new Map(points.map(({ age, share }) => [age, share === null ? undefined : share * 100]));
  const ages = Array.from({ length: Math.min(MAX_AGE, Math.max(...shares.keys())) }, (_, at) => at + 1);
  const descriptions = ages.flatMap((age) => {
    const share = shares.get(age);
    if (share === undefined) return [];
    return `${formatNumber(Math.round(share * 10) / 10)} % after ${formatCount(age, 'day')}`;
  });
  const caption = html`<b>${isolate(name)}</b> <span class=unit>in %</span>`;
  const values = ages.map((age) => shares.get(age));
  return drawBars(caption, `${name}: ${descriptions.join(', ')}`, values, (at) => String(ages[at]));
}

function drawBars(
  caption: Html,
  label: string,
  values: readonly (number | undefined)[],
  labelOf: (at: number) => string,
): Html {
  const { lines, place } = createScale(values.filter((value) => value !== undefined));
  const gaps = values.map((value, at) => value === undefined && `M${at + 0.5} 0V${HEIGHT}`);
  const bars = values.map(
    (value, at) => value !== undefined && `M${at} ${place(0)}V${place(value)}h.8V${place(0)}`,
  );
  return html`<figure>
<figcaption>${caption}</figcaption>
<div class=plot role=img aria-label="${label}">
<div class=axis>${lines.map((line) => html`<span>${compact.format(line)}</span>`)}</div>
<svg class=bars viewBox="0 0 ${values.length} ${HEIGHT}" preserveAspectRatio="none"><path class=gaps d="${gaps}"/>${lines.map((line) => html`<path class=line d="M0 ${place(line)}H${values.length}"/>`)}<path class=bar d="${bars}"/></svg>
<svg class=dates>${drawLabels(values.length, labelOf)}</svg>
</div>
</figure>`;
}

/** 50000 is `50K`. */
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/**
 * From zero, or from a round number below the least value, to a round number above the largest one.
 *
 * @returns round numbers, the highest first, and the place of a value from the top
 */
function createScale(values: readonly number[]) {
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = most - least || 1;
  const magnitude = 10 ** Math.floor(Math.log10(span / MAX_LINES));
  const step =
    [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => span / size <= MAX_LINES) ?? span;
  const [low, high] = [Math.floor(least / step), Math.max(Math.ceil(most / step), least < 0 ? 0 : 1)];
  const lines = Array.from({ length: high - low + 1 }, (_, at) => (high - at) * step);
  const place = (value: number) => Math.round((HEIGHT * (high * step - value)) / ((high - low) * step));
  return { lines, place };
}

function drawLabels(bars: number, labelOf: (at: number) => string): Html[] {
  const step = Math.ceil(bars / MAX_LABELS);
  const places = Array.from({ length: Math.ceil(bars / step) }, (_, at) => at * step);
  return places.map((at) => html`<text x="${((100 * at) / bars).toFixed(1)}%" y="12">${labelOf(at)}</text>`);
}
