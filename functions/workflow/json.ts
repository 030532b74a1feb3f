export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object. Any other value has none. */
export function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** An object without a prototype: a name from outside may be `constructor` or `__proto__`. */
export function byName<T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> {
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

/** @returns undefined if there is no text, or if it is not JSON. The parser's own error would quote it */
export function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
