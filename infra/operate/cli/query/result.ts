import { once } from 'node:events';
import Papa from 'papaparse';
import { count } from '../../../../functions/workflow/count.ts';
import { toPrintable, toPrintableJson } from '../../place/errors.ts';
import { alignColumns, printLines } from '../layout.ts';

/** Values that a JSON number cannot hold, such as decimals and bigints, are strings. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

export interface QueryResult {
  /** `type` is the engine's name of it. Two columns may have the same name. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** In pieces, as the engine sends them. They can be read once. */
  readonly rows: AsyncIterable<Rows>;
  /** Facts for the person who waits, such as the bytes that the query read. */
  readonly notes: readonly string[];
}

type Rows = readonly (readonly Value[])[];

/** Prints the result on stdout as it comes, and the number of rows and the notes on stderr. */
export async function printResult(result: QueryResult, format: keyof typeof FORMATS): Promise<void> {
  let total = 0;
  async function* counted() {
    for await (const rows of result.rows) {
      total += rows.length;
      yield rows;
    }
  }
  const pieces = FORMATS[format]({ ...result, rows: counted() });
  const { isTTY } = process.stdout;
  try {
    for await (const piece of pieces) {
      if (!process.stdout.writable) return;
      // Waits for a slow reader, so a result of any size fits into memory.
      const text = isTTY ? piece.split('\n').map(toPrintable).join('\n') : piece;
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    }
  } catch (error) {
    // The reader has seen enough, as with `| head`, or the disk is full, which the program says.
    if ((error as NodeJS.ErrnoException).syscall === 'write') return;
    throw error;
  }
  printLines([count(total, 'row'), ...result.notes], process.stderr);
}

type TextPieces = AsyncGenerator<string>;

const FORMATS = {
  table: formatTable,
  json: formatJson,
  csv: formatCsv,
};

const DECIMAL = /^decimal\b/i;
const NUMERIC_TYPE = /^(u?(tiny|small|big|huge)?int(eger)?|decimal|double|float|real)\b/i;

/** Aligns numbers to the right. Only a table has to know all rows before it shows the first one. */
export async function* formatTable({ columns, rows }: QueryResult): TextPieces {
  const numbers = columns.flatMap(({ type }, at) => (NUMERIC_TYPE.test(type) ? [at] : []));
  const all = (await Array.fromAsync(rows)).flat();
  const cells = all.map((row) => row.map((value, at) => toPrintable(cellText(value, columns[at]?.type))));
  const header = columns.map(({ name }) => toPrintable(name));
  for (const line of alignColumns([header, ...cells], numbers)) yield `${line}\n`;
}

function cellText(value: Value, type = ''): string {
  if (value === null) return 'NULL';
  if (typeof value === 'object') return JSON.stringify(value);
  return DECIMAL.test(type) ? withoutTrailingZeros(String(value)) : String(value);
}

/** The ledger keeps counts and amounts with ten decimals: 863103.0000000000 is `863103`. */
function withoutTrailingZeros(decimal: string): string {
  return decimal.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

/** One document. A row is an object; a name that comes again gets a number, such as `spend_2`. */
export async function* formatJson({ columns, rows }: QueryResult): TextPieces {
  const names: string[] = [];
  for (const { name } of columns) {
    let distinct = name;
    for (let number = 2; names.includes(distinct); number += 1) distinct = `${name}_${number}`;
    names.push(distinct);
  }
  yield `{"columns":${toPrintableJson(columns.map(({ type }, at) => ({ name: names[at], type })))},"rows":[`;
  let separator = '';
  for await (const piece of rows) {
    if (piece.length === 0) continue;
    const objects = piece.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
    yield separator + objects.map(toPrintableJson).join();
    separator = ',';
  }
  yield ']}\n';
}

/** The beginning of a text that a spreadsheet would run as a formula. A negative number is none. */
const FORMULA = /^(?!-[\d.]+(e[-+]?\d+)?$)[=+\-@\t\r\n]/i;

const CSV_OPTIONS = { quotes: (cell: unknown) => cell === '', escapeFormulae: FORMULA };

/**
 * RFC 4180, for spreadsheets too: it says which encoding it has, and no text is a formula. NULL is an empty
 * field, and an empty text is `""`.
 */
export async function* formatCsv({ columns, rows }: QueryResult): TextPieces {
  const toLines = (values: Rows) => {
    const cells = values.map((row) =>
      row.map((value, at) => (value === null ? null : cellText(value, columns[at]?.type))),
    );
    return `${Papa.unparse(cells, CSV_OPTIONS)}\r\n`;
  };
  yield `\uFEFF${Papa.unparse([columns.map(({ name }) => name)], CSV_OPTIONS)}\r\n`;
  for await (const piece of rows) if (piece.length > 0) yield toLines(piece);
}
