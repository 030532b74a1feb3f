import { ADVERTISER_ID, type ErrorFacts, type Fields, REFUSED_FIELDS, readError } from '../contract.ts';
import { fieldsOf, isObject, parseJson } from '../workflow/json.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ReceivedAnswer } from './answer.ts';

/** Finds the ids of advertisers in a sentence in lower case. */
const IDS = new RegExp(`(?<![\\w-])(${ADVERTISER_ID.form.source})(?![\\w-])`, 'gi');

/**
 * Finds the advertisers that an answer refuses by name. A refusal may name something else of the request too,
 * such as a metric that these advertisers lack. Then it does not refuse the advertisers, and without them the
 * report would lose their rows. In a 422, the validation has to name the field of the advertisers.
 *
 * @param ids which the request asked for
 */
export function refusedAdvertisers(
  { status, text }: Pick<ReceivedAnswer, 'status' | 'text'>,
  request: RefusedRequest,
  window: Window,
  ids: readonly string[],
): string[] {
  if (status !== 403 && status !== 422) return [];
  const facts = readError({ status, body: fieldsOf(parseJson(text)) as Fields });
  const failures = failuresOf(facts);
  const sentences = failures.length > 0 ? failures : status === 403 ? [sentenceOf(facts) ?? text] : [];
  const names = namesInRequest(request, window, ids);
  if (sentences.some((sentence) => names.some((name) => isNamed(name, sentence)))) return [];
  const about =
    failures.length > 0
      ? failures.filter((failure) => isNamed(REFUSED_FIELDS.advertisers, failure))
      : sentences;
  const refused = new Set(about.flatMap((sentence) => sentence.toLowerCase().match(IDS) ?? []));
  return ids.filter((id) => refused.has(id.toLowerCase()));
}

/** The fields of a request that a refusal may name. */
type RefusedRequest = Pick<ReportRequest, 'metrics' | 'dimensions' | 'options'>;

/** Each failure of a validation with its field, as text. The contract does not show their shape. */
function failuresOf({ validation, detail }: ErrorFacts): string[] {
  const failures = validation ?? (Array.isArray(detail) ? detail : []);
  if (isObject(failures)) return Object.entries(failures).map((entry) => JSON.stringify(entry));
  return [failures].flat().map((failure) => JSON.stringify(failure));
}

/** The parts of an error that say what was refused. A link to the documentation does not. */
function sentenceOf({ type, message, detail }: ErrorFacts): string | undefined {
  const isKnown = [type, message, detail].some((part) => part !== undefined);
  return isKnown ? JSON.stringify({ type, message, detail }) : undefined;
}

/** The names in a request besides its advertisers: fields, metrics, dimensions, dates, texts of options. */
function namesInRequest(
  { metrics, dimensions, options }: RefusedRequest,
  { start_date, end_date }: Window,
  ids: readonly string[],
): string[] {
  const texts = [metrics, dimensions, options, start_date, end_date].flatMap(textsIn);
  const advertisers = new Set(ids.map((id) => id.toLowerCase()));
  return [...REFUSED_FIELDS.others, ...texts].filter(
    (text) => /[a-z\d]/i.test(text) && !advertisers.has(text.toLowerCase()) && !isAdvertiser(text),
  );
}

/** True for a name such as the dimension advertiser_id. A refusal of advertisers says that word. */
function isAdvertiser(name: string): boolean {
  return [' advertiser ', ' advertiser id '].includes(wordsOf(name.replace(/([a-z\d])([A-Z])/g, '$1 $2')));
}

/** All texts in a JSON value, and the names of its fields. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return Object.entries(fieldsOf(value)).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

/** True if a text has a name in any spelling: `number_of_purchases` also as "numberOfPurchases". */
function isNamed(name: string, text: string): boolean {
  const split = (camel: string) => camel.replace(/([a-z\d])([A-Z])/g, '$1 $2');
  return wordsOf(text).includes(wordsOf(name)) || wordsOf(split(text)).includes(wordsOf(split(name)));
}

/** In lower case, without the `s` of a plural, between single spaces. */
function wordsOf(text: string): string {
  const words = text.toLowerCase().split(/[^a-z\d]+/);
  const singular = words.filter((word) => word !== '').map((word) => word.replace(/s$/, ''));
  return ` ${singular.join(' ')} `;
}
