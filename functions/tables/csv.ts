import Papa, { type ParseResult } from 'papaparse';
import { refused, TableProblem } from './report.ts';

/** The parser reads an unfinished line again with each block. */
const MAX_LINE_CHARACTERS = 2_000_000;

/**
 * With `\n`, a line may end with a carriage return too. Given `\r\n`, the parser would not end a line at a
 * line feed alone.
 */
const CSV = new Papa.Parser({ delimiter: ',', newline: '\n' });

/**
 * Yields each line after the header as a JSON array of texts, null where a field is empty. DuckDB's own
 * reader of CSV takes a header with an open quote and all that follows for the header, maps columns by
 * position and leaves out long lines without an error.
 *
 * @param file gets the fields of the first line
 * @throws DownloadRefused if the file does not parse; TableProblem
 */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  file: { header: readonly string[] },
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  const takeLines = (isLast: boolean) => {
    const { data, errors, meta }: ParseResult<string[]> = CSV.parse(rest, 0, !isLast);
    rest = rest.slice(meta.cursor);
    // A line that is not complete yet may have errors.
    const fault = errors.find(({ row = 0 }) => isLast || row < data.length);
    if (fault) throw refused(`cannot be read: ${fault.message}`);
    return data.map((fields) => toJsonLine(fields, file)).join('');
  };
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    yield takeLines(false);
    if (rest.length > MAX_LINE_CHARACTERS)
      throw new TableProblem(
        `a line of the file is longer than ${MAX_LINE_CHARACTERS} characters, or a quote in it is not closed`,
      );
  }
  rest += decoder.decode();
  yield takeLines(true);
}

function toJsonLine(fields: readonly string[], file: { header: readonly string[] }): string {
  const texts = fields.with(-1, (fields.at(-1) ?? '').replace(/\r$/, ''));
  if (texts.length === 1 && texts[0] === '') return '';
  if (file.header.length === 0) {
    file.header = texts.map((text) => text.trim());
    // Otherwise all lines would be the header of a report without rows.
    if (file.header.some((name) => /\r(?!\n)/.test(name)))
      throw new TableProblem('lines of the CSV file end with a carriage return alone; they need a line feed');
    return '';
  }
  if (texts.length < file.header.length)
    throw refused('cannot be read: a line has fewer fields than the first one');
  if (texts.length > file.header.length)
    throw new TableProblem('a line of the CSV file has more fields than the first one');
  return `${JSON.stringify(texts.map((text) => (text === '' ? null : text)))}\n`;
}
