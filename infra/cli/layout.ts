import { toPrintable } from './errors.ts';

/** Between two columns. */
const GAP = '  ';

/** Of the lines that continue a wrapped one. */
const INDENT = '  ';

/** A command that is broken into lines could not be pasted. */
const COMMAND = /\bnpm (start|run)\b/;

/** A command within a sentence: it stays whole, and the sentence is broken around it. */
const QUOTED_COMMAND = /'npm [^']*'/g;
/** Stands for a space there. No printable line has it. */
const NO_BREAK = '\0';

/** The width of the terminal; without one, lines are not wrapped. */
export function screenWidth(screen: { readonly columns?: number } = process.stdout): number {
  return screen.columns || Number.POSITIVE_INFINITY;
}

export function fitsScreen(lines: readonly string[], width = screenWidth()): boolean {
  return lines.every((line) => textWidth(line) <= width);
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}]/gu;
const INVISIBLE = /[\p{Mn}\p{Me}\u200d]/gu;

/** The columns of a terminal that a text takes: Chinese, Japanese and Korean characters and emoji take two, combining accents none. */
export function textWidth(text: string): number {
  const visible = [...text.replace(INVISIBLE, '')].length;
  return visible + (text.match(WIDE)?.length ?? 0);
}

/** Writes lines, made safe for a terminal. */
export function printLines(lines: readonly string[], to: NodeJS.WritableStream = process.stdout): void {
  to.write(`${lines.map(toPrintable).join('\n')}\n`);
}

/** Writes a message of one or more lines on stderr. */
export function printMessage(message: string): void {
  const width = screenWidth(process.stderr);
  printLines(
    message.split('\n').flatMap((line) => wrap(line, INDENT, width)),
    process.stderr,
  );
}

export function warn(message: string): void {
  printMessage(toPrintable(`warning: ${message}`));
}

/**
 * Puts rows into aligned columns, under their headings. If that is wider than the screen, a row's cells follow each other and
 * continue on the next line.
 */
export function layOut(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width = screenWidth(),
): string[] {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
  if (fitsScreen(lines, width)) return lines;
  return rows.flatMap((row) =>
    join(
      row.filter((cell) => cell !== ''),
      GAP,
      width,
    ),
  );
}

/** Breaks a text into lines of a width, between words, unless it has a command. The lines after the first are indented. */
export function wrap(text: string, indent = INDENT, width = screenWidth()): string[] {
  const whole = text.replace(QUOTED_COMMAND, (command) => command.replaceAll(' ', NO_BREAK));
  if (COMMAND.test(whole)) return [text];
  const [lead = ''] = /^ */.exec(whole) ?? [];
  const [first = '', ...others] = whole.slice(lead.length).split(' ');
  return join([lead + first, ...others], ' ', width, indent).map((line) => line.replaceAll(NO_BREAK, ' '));
}

/** As {@link wrap}, but breaks only between the items of a list, not within them. An item that ends with a colon introduces the others. */
export function wrapList(items: readonly string[], indent = INDENT, width = screenWidth()): string[] {
  const last = items.length - 1;
  const parts = items.map((item, index) => (index === last || item.endsWith(':') ? item : `${item},`));
  return join(parts, ' ', width, indent);
}

/** A part that is wider than the screen has a line of its own, which the terminal breaks; so it can still be copied. */
function join(parts: readonly string[], gap: string, width: number, indent = INDENT): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)}${gap}${part}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(lines.length === 0 ? part : indent + part);
  }
  return lines;
}

/** 2026-11-22T02:31:12.521Z is `2026-11-22 02:31`. */
export function toMinute(instant: string): string {
  return instant.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
}
