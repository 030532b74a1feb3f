/** A line for a terminal: what others have written, such as a report's id, must not move its cursor or turn its text around. */
export function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');
}
