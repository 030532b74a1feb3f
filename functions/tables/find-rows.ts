import { isObject, type JsonObject, parseJson } from '../workflow/json.ts';
import type { Column } from '../workflow/table.ts';
import { list } from './match.ts';

/** Objects around the array: `{"rows": [` or `{"data": {"rows": [`. */
const MAX_DEPTH = 2;

/** Arrays beside the rows, unless they have requested fields. */
const NOTICES = /^(errors?|warnings?|notices?|notes|messages?|details?|columns|fields|schema|links)$/i;

/** Some platforms write null for an array without rows. */
const ROWS = /^(rows|data|items|results?|records|list)$/i;

/** Fields of an answer that is no report. A row that has a requested metric may have them too. */
const FAILURE = /^(errors?(_?(code|message|type))?|faults?|exceptions?|messages?|msg|reasons?|details?)$/i;
const STATUS = /^(status|code|status_?code)$/i;
const FAILED =
  /^(fail(ed|ure)?|error|expired|processing|created|pending|queued|running|in_?progress|cancell?ed)$/i;
const HARMLESS = /^(ok|success\w*|no (data|rows|results|records)\b.*)$/i;

/** The fields of a request, compared by their letters and digits: `Spend (USD)` is `spend`. */
export interface Requested {
  readonly isField: (name: string) => boolean;
  readonly isMetric: (name: string) => boolean;
  /** Returns true if all metrics are among these names. */
  readonly hasMetrics: (names: readonly string[]) => boolean;
}

export function createRequested(columns: readonly Column[]): Requested {
  const fields = columns.map(({ name }) => simplify(name)).filter((name) => name !== '');
  const metrics = columns.filter(({ type }) => type !== 'string').map(({ name }) => simplify(name));
  const isOneOf = (wanted: readonly string[]) => (name: string) =>
    wanted.some((each) => simplify(name).includes(each));
  return {
    isField: isOneOf(fields),
    isMetric: isOneOf(metrics),
    hasMetrics: (names) => metrics.every((metric) => names.some((name) => simplify(name).includes(metric))),
  };
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** An array in a JSON text. */
interface FoundArray {
  readonly name: string;
  readonly at: number;
  /** After its last bracket, if the text goes as far. */
  end?: number;
  /** The first character inside of it; '' if the text ends before. */
  readonly next: string;
  /** The first item if it is an object, and the text goes as far. */
  first?: JsonObject;
}

/** @returns the arrays of the first value of the text, those inside of arrays left out, and where the value ends */
export function scanJson(text: string): { readonly arrays: readonly FoundArray[]; readonly end?: number } {
  const arrays: FoundArray[] = [];
  const open: { token: string; index: number; array?: FoundArray | undefined }[] = [];
  let name = '';
  // Strings too, so that brackets inside of them do not count.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[[\]{}]/gs)) {
    if (token.startsWith('"')) {
      name = token.slice(1, -1);
      continue;
    }
    if (token === '[' || token === '{') {
      const isOutermost = open.length <= MAX_DEPTH && open.every((other) => other.token === '{');
      const [next = ''] = /\S|$/.exec(text.slice(index + 1, index + 1000)) ?? [];
      const array = token === '[' && isOutermost ? { name, at: index, next } : undefined;
      if (array) arrays.push(array);
      open.push({ token, index, array });
      continue;
    }
    const closed = open.pop();
    const around = open.at(-1)?.array;
    if (closed?.array) closed.array.end = index + 1;
    if (around?.next === '{' && closed) {
      const first = around.first ?? parseJson(text.slice(closed.index, index + 1));
      if (isObject(first)) around.first = first;
    }
    if (open.length === 0) return { arrays, end: index + 1 };
  }
  return { arrays };
}

/** The place of the rows of an object: an array, the object itself, or nowhere because the report is empty. */
export type Rows = FoundArray | 'itself' | 'none' | { readonly fault: string };

/** @param text of a JSON object @returns undefined if it does not parse */
export function findRows(text: string, requested: Requested): Rows | undefined {
  const object = parseJson(text);
  if (!isObject(object)) return undefined;
  const { arrays } = scanJson(text);
  const { filled, empty, chosen } = chooseArray(arrays, requested);
  const isWithoutMetric = ({ first }: FoundArray) => !first || !hasMetric(first, requested);
  if (isRow(object, requested) && filled.every(isWithoutMetric)) return 'itself';
  if (isGiven(object.error) || isGiven(object.errors))
    return { fault: `is an error document: it has ${listNames(object)}` };
  if (chosen) {
    const fault = faultOfRow(chosen.first, requested);
    return fault === undefined ? chosen : { fault };
  }
  if (filled.length > 0) return { fault: 'is an object that holds several arrays of objects' };
  const isFailure = [object, ...Object.values(object).filter(isObject)].some(looksFailed);
  if (isFailure && !hasMetric(object, requested))
    return { fault: `is no report, but says that one failed or is not ready: it has ${listNames(object)}` };
  if (empty.length > 0 || hasNullRows(object)) return 'none';
  if (hasMetric(object, requested)) return 'itself';
  return { fault: `has none of the requested metrics, but ${listNames(object) || 'no fields'}` };
}

/** The only array of objects, or the only one with requested fields. */
export function chooseArray(arrays: readonly FoundArray[], { isField }: Requested) {
  const isNamed = ({ first = {} }: FoundArray) => namesIn(first).some(isField);
  const ofRows = arrays.filter((array) => !NOTICES.test(array.name) || isNamed(array));
  const filled = ofRows.filter(({ next }) => next === '{' || next === '');
  const named = filled.length > 1 ? filled.filter(isNamed) : filled;
  const chosen = named.length === 1 ? named[0] : undefined;
  return { filled, empty: ofRows.filter(({ next }) => next === ']'), chosen };
}

/** @returns the reason why a file with this row, its first or its last one, is no report */
export function faultOfRow(row: JsonObject | undefined, requested: Requested): string | undefined {
  if (!row || hasMetric(row, requested) || !looksFailed(row)) return undefined;
  return `has a failure instead of a row: it has ${listNames(row)}`;
}

/** A total beside rows has no date and no dimension. */
function isRow(object: JsonObject, { isField, isMetric }: Requested): boolean {
  const scalars = Object.keys(object).filter((name) => typeof object[name] !== 'object');
  return scalars.some(isMetric) && scalars.some((name) => isField(name) && !isMetric(name));
}

/** Also inside of objects. An error document may have the name of a metric, but no number for it. */
function hasMetric(object: JsonObject, requested: Requested): boolean {
  return Object.entries(object).some(
    ([name, value]) =>
      (requested.isMetric(name) && isNumeric(value)) || (isObject(value) && hasMetric(value, requested)),
  );
}

function isNumeric(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '' && !Number.isNaN(Number(value));
  return typeof value === 'number' || value === null;
}

function looksFailed(object: JsonObject): boolean {
  return Object.entries(object).some(([name, value]) => {
    if (FAILURE.test(name)) return isGiven(value) && !(typeof value === 'string' && HARMLESS.test(value));
    if (/^(ok|success)$/i.test(name)) return value === false;
    return STATUS.test(name) && (Number(value) >= 400 || FAILED.test(String(value)));
  });
}

function isGiven(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

function hasNullRows(object: JsonObject): boolean {
  return Object.entries(object).some(
    ([name, value]) => (value === null && ROWS.test(name)) || (isObject(value) && hasNullRows(value)),
  );
}

function namesIn(object: JsonObject): string[] {
  const inner = Object.values(object).filter(isObject);
  return [...Object.keys(object), ...inner.flatMap(namesIn)];
}

function listNames(object: JsonObject): string {
  return list(Object.keys(object));
}
