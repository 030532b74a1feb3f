import { ADVERTISER_COLUMN, type Column, DATE_COLUMN } from '../workflow/table.ts';
import type { ReportOptions } from './report.ts';

/** A message names at most so many names, and shortens each name and value. */
const MAX_NAMES = 20;
export const MESSAGE_CHARACTERS = 40;

/** A column and its name in the file; undefined if the file has none, or several. */
export interface Matched extends Column {
  readonly source: string | undefined;
}

/** The columns of the table, or those to add up if there is none, as the file has them. */
export interface Match {
  readonly date: Matched;
  readonly columns: readonly Matched[];
  readonly warnings: readonly string[];
  /** The names do not fit the columns. */
  readonly problem?: string;
  /** Columns that no row has, which matters only if there are rows. */
  readonly missing: readonly string[];
}

interface Source {
  readonly names: readonly string[];
  readonly problem?: string;
}

type Wanted = Pick<ReportOptions, 'schema' | 'columns'>;

/** The date column comes first. */
export function wantedColumns({ schema, columns }: Wanted): readonly [Column, ...Column[]] {
  const date: Column = { name: schema?.date_column ?? DATE_COLUMN, type: 'string' };
  return [date, ...(schema?.columns ?? columns.filter(({ type }) => type !== 'string'))];
}

/** Finds each column by its name, which may differ in case: the Data Catalog has only lower case. */
export function matchColumns(source: Source, options: Wanted): Match {
  const byName = Map.groupBy(source.names, nameKey);
  const namesOf = (column: Column) => byName.get(nameKey(column.name)) ?? [];
  const wanted = wantedColumns(options);
  const [date, ...columns] = wanted;
  const match = (column: Column): Matched => {
    const names = namesOf(column);
    return { ...column, source: names.length === 1 ? names[0] : undefined };
  };
  const asked = new Set(
    options.columns.map(({ name }) => nameKey(name)).filter((name) => name !== ADVERTISER_COLUMN),
  );
  const required = [
    ...(options.schema ? [date] : []),
    ...columns.filter(({ name }) => asked.has(nameKey(name))),
  ];
  const known = new Set(wanted.map(({ name }) => nameKey(name)));
  const unknown = source.names.filter((name) => !known.has(nameKey(name)));
  const problem = problemOf(
    source,
    wanted
      .map(namesOf)
      .filter(({ length }) => length > 1)
      .flat(),
  );
  return {
    date: match(date),
    columns: columns.map(match),
    warnings:
      options.schema && unknown.length > 0 && source.problem === undefined
        ? [`the table leaves out fields that it has no column for: ${list(unknown)}`]
        : [],
    ...(problem !== undefined && { problem }),
    missing: required.filter((column) => namesOf(column).length === 0).map(({ name }) => name),
  };
}

export function nameKey(name: string): string {
  return name.toLowerCase();
}

function problemOf({ problem }: Source, ambiguous: readonly string[]): string | undefined {
  if (problem !== undefined) return problem;
  return ambiguous.length > 0
    ? `several fields have the same name, whatever its case: ${list(ambiguous)}`
    : undefined;
}

/** Names for a message. */
export function list(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return names.slice(0, MAX_NAMES).map(shorten).join(', ') + more;
}

/** A name or a value for a message, as JSON, so that line breaks are visible. */
export function shorten(text: string): string {
  const isLong = text.length > MESSAGE_CHARACTERS;
  return JSON.stringify(isLong ? `${text.slice(0, MESSAGE_CHARACTERS).toWellFormed()}…` : text);
}
