/** A value of a result. Types whose values a JSON number cannot hold, such as decimals and bigints, are strings. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

export interface QueryResult {
  /** `type` is the engine's name of it. Two columns may have the same name. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly Value[])[];
  /** Facts for the person who waits, such as the bytes that the query read. */
  readonly note?: string;
}
