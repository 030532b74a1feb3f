import Papa, { type ParseResult } from 'papaparse';
import { count } from '../workflow/count.ts';
import { shorten, TableProblem } from './report.ts';
import { lengthOf, SHOWN } from './text.ts';

/** The parser reads an unfinished line again with each block, so a longer line would take too long. */
const MAX_LINE_CHARACTERS = 2_000_000;

/**
 * With `\n`, a line may end with a carriage return too. Given `\r\n`, the parser would not end a line at a
 * line feed alone.
 */
const CSV = new Papa.Parser({ delimiter: ',', newline: '\n' });

/** The facts of a CSV file, which {@link readCsv} finds. */
export interface CsvFacts {
  /** The fields of the first line. */
  header: readonly string[];
  /** The first line that has more or fewer fields than the header. */
  badLine?: string | undefined;
}

/**
 * Yields each line after the header as a JSON array of texts, null where a field is empty. Leaves out lines
 * that have more or fewer fields than the header, and lines without any value. DuckDB's own reader of CSV
 * takes a header with an open quote and all that follows for the header, maps columns by position and leaves
 * out long lines without an error.
 *
 * @throws TableProblem if the rest of the file cannot be read
 */
export async function* readCsv(texts: AsyncIterable<string>, facts: CsvFacts): AsyncGenerator<string> {
  let rest = '';
  // Lines of the file before the rest.
  let lines = 0;
  const takeLines = (isLast: boolean) => {
    const { data, errors, meta }: ParseResult<string[]> = CSV.parse(rest, 0, !isLast);
    const lineOf = (row: number) =>
      lines + 1 + data.slice(0, row).reduce((sum, fields) => sum + linesOf(fields), 0);
    // A line that is not complete yet may have errors.
    const fault = errors.find(({ row = 0 }) => isLast || row < data.length);
    if (fault)
      throw new TableProblem(
        `line ${lineOf(fault.row ?? 0)} of the CSV file cannot be read: ${fault.message}`,
      );
    const rows = data.map((fields, row) => toJsonLine(fields, facts, () => lineOf(row))).join('');
    lines += rest.includes('"') ? lineOf(data.length) - lines - 1 : data.length;
    rest = rest.slice(meta.cursor);
    return rows;
  };
  for await (const text of texts) {
    rest += text;
    yield takeLines(false);
    if (rest.length > MAX_LINE_CHARACTERS)
      throw new TableProblem(
        `line ${lines + 1} of the CSV file is longer than ${MAX_LINE_CHARACTERS} characters, or a quote in it is not closed`,
      );
  }
  yield takeLines(true);
}

/** A field in quotes may have several lines. */
function linesOf(fields: readonly string[]): number {
  return 1 + fields.reduce((sum, field) => sum + field.split('\n').length - 1, 0);
}

function toJsonLine(fields: readonly string[], facts: CsvFacts, line: () => number): string {
  const texts = fields.with(-1, (fields.at(-1) ?? '').replace(/\r$/, ''));
  if (texts.every((text) => lengthOf(text) === 0)) return '';
  if (facts.header.length === 0) {
    facts.header = texts.map((text) => text.trim());
    // Such a file looks like one line: a header without rows.
    if (facts.header.some((name) => /\r(?!\n)/.test(name)))
      throw new TableProblem('lines of the CSV file end with a carriage return alone; they need a line feed');
    return '';
  }
  if (texts.length === facts.header.length)
    return `${JSON.stringify(texts.map((text) => (text === '' ? null : text)))}\n`;
  facts.badLine ??= `line ${line()} of the CSV file has ${count(texts.length, 'field')}, and its header ${count(facts.header.length, 'field')}: ${shorten(texts.join(), SHOWN)}`;
  return '';
}
