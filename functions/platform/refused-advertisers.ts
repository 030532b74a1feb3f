import { fieldsOf, isObject, type JsonObject, parseJson } from '../workflow/json.ts';
import type { Answer } from './answer.ts';

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Fields of a request whose name has no other meaning in a sentence. */
const FIELDS = ['metrics', 'dimensions', 'granularity', 'start_date', 'end_date'];

/**
 * The advertisers that an answer refuses by name (contract 7.1, 7.2). A refusal that names something else of
 * the request, such as a metric that these advertisers lack, is no refusal of the advertisers: without them,
 * the report would lose their rows. In a 422, `detail.validation` has to name `advertiser_ids`.
 *
 * @param body of the request
 * @param ids which the request asked for
 */
export function refusedAdvertisers(
  { status, text }: Pick<Answer, 'status' | 'text'>,
  body: JsonObject,
  ids: readonly string[],
): string[] {
  if (status !== 403 && status !== 422) return [];
  const { error } = fieldsOf(parseJson(text));
  const failures = validationOf(fieldsOf(error).detail);
  const sentences = failures.length > 0 ? failures : status === 403 ? [sentenceOf(error) ?? text] : [];
  const names = namesOf(body, ids);
  if (sentences.some((sentence) => names.some((name) => isNamed(name, sentence)))) return [];
  const about = failures.length > 0 ? failures.filter((one) => isNamed('advertiser_ids', one)) : sentences;
  const refused = new Set(about.flatMap((sentence) => sentence.toLowerCase().match(UUID) ?? []));
  return ids.filter((id) => refused.has(id.toLowerCase()));
}

/** Each failure of a validation with its field, as text. The contract does not show their shape. */
function validationOf(detail: unknown): string[] {
  const validation = Array.isArray(detail) ? detail : fieldsOf(detail).validation;
  if (isObject(validation)) return Object.entries(validation).map((entry) => JSON.stringify(entry));
  return [validation ?? []].flat().map((failure) => JSON.stringify(failure));
}

/** The parts of an envelope that say what was refused. The link to the documentation does not. */
function sentenceOf(error: unknown): string | undefined {
  if (!isObject(error)) return undefined;
  const { type, message, detail } = error;
  return JSON.stringify({ type, message, detail });
}

/** The names in a request besides its advertisers: fields, metrics, dimensions, dates, texts of options. */
function namesOf(body: JsonObject, ids: readonly string[]): string[] {
  const { advertiser_ids: _, granularity: __, format: ___, metrics, dimensions, ...others } = body;
  const texts = [metrics, dimensions, others].flatMap(textsIn);
  const own = new Set(ids.map((id) => id.toLowerCase()));
  return [...FIELDS, ...texts].filter(
    (text) => /[a-z\d]/i.test(text) && !own.has(text.toLowerCase()) && !isAdvertiser(text),
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
