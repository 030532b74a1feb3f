import type { DateRange } from '../../../functions/workflow/request/dates.ts';

/** What a value of a day may be read from. An earlier one is trusted before a later one. */
export const TRUST = ['file', 'manifest', 'table', 'ledger', 'platform'] as const;
export type Source = (typeof TRUST)[number];

/** Null: the source has no value. Absent: the source says nothing about it. */
export type SourceValues = Readonly<Partial<Record<Source, string | null>>>;

/** The command that mends a difference: `rebuild` adds what a file has, and `run` brings a new report. */
export type Mend = 'rebuild' | 'run';

/** What sources say about a metric of a day, or of the window of a file. */
export interface Statement extends DateRange {
  /** A metric, `rows`, `report`, or `checksum` of a file. */
  readonly metric: string;
  readonly values: SourceValues;
  /** The days that differ if the sources do. */
  readonly days: readonly string[];
  /** Default: see {@link mendOf}. */
  readonly mend?: Mend;
}

/** Two sources that say different things. */
export interface Difference extends DateRange {
  readonly metric: string;
  /** Of the two sources. */
  readonly values: SourceValues;
  readonly mend: Mend;
}

/** Compares the most trusted source of each statement with the others. */
export function compareSources(statements: readonly Statement[]) {
  const differences = statements.map(compareStatement);
  const differing = statements.filter((_, at) => differences[at]?.length !== 0);
  return {
    differences: differences.flat(),
    /** The days that differ. */
    days: new Set(differing.flatMap(({ days }) => days)) as ReadonlySet<string>,
  };
}

function compareStatement({ start_date, end_date, metric, values, mend }: Statement): Difference[] {
  const [trusted, ...others] = TRUST.filter((source) => values[source] !== undefined);
  if (trusted === undefined) return [];
  const expected = values[trusted] ?? null;
  return others.flatMap((source) => {
    const value = values[source] ?? null;
    if (value === expected) return [];
    const pair = { [trusted]: expected, [source]: value };
    return [{ start_date, end_date, metric, values: pair, mend: mend ?? mendOf(source, value) }];
  });
}

/** What the ledger lacks, `rebuild` adds. A value that was changed needs a new report. */
function mendOf(source: Source, value: string | null): Mend {
  return source === 'ledger' && value === null ? 'rebuild' : 'run';
}
