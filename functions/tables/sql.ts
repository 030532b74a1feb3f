/** A text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as an identifier of SQL. A local file may name a column as it likes. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
