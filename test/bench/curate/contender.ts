import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SchemaElement } from 'hyparquet-writer';
import { openReport } from '../../../functions/curate/open-report.ts';
import { spool } from '../../../functions/curate/spool.ts';
import type { Column } from '../../../functions/workflow/table.ts';
import { COLUMNS, WINDOW } from './report.ts';

// Runs in a process of its own: one conversion by one contender. Prints its time, CPU and memory as JSON.

const [name, path = '', folder = ''] = process.argv.slice(2);
const started = performance.now();
const before = process.cpuUsage();
await (name === 'javascript' ? javaScript() : ours());
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, rss: maxRSS * 1024 }));

/** As CurateReport does: spools the file, checks it, adds it up, and writes each day. */
async function ours(): Promise<void> {
  const kind = { format: 'JSON', content_type: 'application/json', columns: COLUMNS };
  const { file } = await spool(createReadStream(path), join(folder, 'report'), kind);
  await using report = await openReport(file, {
    schema: { columns: COLUMNS, date_column: 'date' },
    ...{ window: WINDOW, columns: COLUMNS, folder, signal: new AbortController().signal },
  });
  for (const { day } of report.facts.days) await report.writeDay(day, { day });
}

/**
 * The same files from JSON.parse and a Parquet writer in JavaScript: exact decimals, sums. Parses each line,
 * because no string of V8 holds a large file. Checks nothing.
 */
async function javaScript(): Promise<void> {
  const { parquetWriteFile } = await import('hyparquet-writer');
  const days = new Map<string, unknown[][]>();
  for await (const line of createInterface(createReadStream(path))) {
    const row = JSON.parse(line.replace(/^\[/, '').replace(/[,\]]$/, ''));
    const rows = days.get(row.date) ?? [];
    days.set(row.date, rows);
    rows.push(COLUMNS.map(({ name, type }) => exact(row[name], type)));
  }
  const schema = [{ name: 'root', num_children: COLUMNS.length }, ...COLUMNS.map(element)];
  for (const rows of days.values()) {
    const columnData = COLUMNS.map(({ name }, index) => ({ name, data: rows.map((row) => row[index]) }));
    for (const { data } of columnData) if (typeof data[0] === 'bigint') sumOf(data as bigint[]);
    parquetWriteFile({ filename: join(folder, 'day.parquet'), columnData, schema });
  }
}

function exact(value: string | number, type: Column['type']): unknown {
  if (type === 'string') return value;
  return BigInt(type === 'bigint' ? value : Math.round(Number(value) * 1e6));
}

function element({ name, type }: Column): SchemaElement {
  const base = { name, repetition_type: 'OPTIONAL' as const };
  if (type === 'string') return { ...base, type: 'BYTE_ARRAY', converted_type: 'UTF8' };
  if (type === 'bigint') return { ...base, type: 'INT64' };
  return { ...base, type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 6 };
}

function sumOf(values: readonly bigint[]): bigint {
  return values.reduce((sum, value) => sum + value, 0n);
}
