import * as z from 'zod';
import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import { byName, type JsonObject } from '../../../functions/workflow/json.ts';
import { ReportInput } from '../../../functions/workflow/request/report.ts';
import {
  type ListRequest,
  parseRequest,
  type ReportRequest,
} from '../../../functions/workflow/request/request.ts';
import {
  type ColumnType,
  DATE_COLUMN,
  LIST_COLUMNS,
  reportColumns,
  type TableSchema,
  tableOf,
} from '../../../functions/workflow/table.ts';
import { Run, type Schedule, TimeZone } from './schedule.ts';

/** An export of one account: a request, and fields that only the stack reads. */
export interface ConfiguredEntry extends Readonly<z.infer<typeof ColumnFields>> {
  readonly runs?: unknown;
  readonly [field: string]: unknown;
}

/** An export of one account of the config. Its request is the one of its first run. */
export interface ConfiguredExport extends ConfiguredEntry {
  readonly name: string;
  readonly account: string;
  readonly runs: readonly ConfiguredRun[];
}

/** A run of an export for one account. */
interface ConfiguredRun extends Readonly<Pick<z.infer<typeof Run>, 'ready_by' | 'tell'>> {
  readonly request: JsonObject;
  readonly schedule: Schedule | undefined;
}

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

/** Days after its last change after which a day is final. Most conversions are attributed within a week. */
export const FINAL_AFTER_DAYS = 6;

export const FinalAfterDays = z.int().min(1);

/** The facts of an account. */
export const Account = z.strictObject({
  time_zone: TimeZone.optional(),
  currency: z
    .string()
    .refine((code) => CURRENCIES.has(code), 'must be the code of a currency in ISO 4217, such as EUR')
    .optional(),
  advertiser_ids: z.optional(ReportInput.shape.advertiser_ids),
  final_after_days: FinalAfterDays.optional(),
});

/** By name. */
export type Accounts = Readonly<Record<string, z.infer<typeof Account>>>;

/** When days are final: of an account, or else of all. */
export interface FinalAfter {
  readonly final_after_days: number;
  readonly accounts: Readonly<Record<string, { readonly final_after_days?: number | undefined }>>;
}

/** The export of each of its accounts. */
export function expandExport(
  { accounts: names, runs = [], ...fields }: ExportOfAccounts,
  accounts: Accounts,
): ConfiguredExport[] {
  const { kind = 'report' } = fields;
  return (names ?? Object.keys(accounts)).map((account) => {
    const { time_zone: zone, advertiser_ids } = accounts[account] ?? {};
    const entryOf = ({ period, time_zone = zone }: z.infer<typeof Run>) => ({
      ...(time_zone !== undefined && { time_zone }),
      ...(kind === 'report' && advertiser_ids !== undefined && { advertiser_ids }),
      ...(fields as { name: string }),
      account,
      ...(period !== undefined && { period }),
    });
    return {
      ...entryOf(runs[0] ?? {}),
      runs: runs.map((run) => ({
        request: requestOf(entryOf(run)),
        schedule: run.schedule && { time_zone: run.time_zone ?? zone, ...run.schedule },
        ready_by: run.ready_by,
        tell: run.tell,
      })),
    };
  });
}

/** The request of an entry, without the fields that only the stack reads. */
export function requestOf({ runs, columns, date_column, ...request }: ConfiguredEntry): JsonObject {
  return request;
}

/** A request with what the export of its name says about columns: a local run takes them from the config. */
export function withColumns(request: JsonObject, configured: readonly ConfiguredEntry[]): ConfiguredEntry {
  const { columns, date_column } = configured.find(({ name }) => name === request.name) ?? {};
  return { ...request, ...(columns && { columns }), ...(date_column && { date_column }) };
}

/** The most digits that Parquet's readers and the Data Catalog allow. */
const MAX_DIGITS = 38;

const TYPE_FAULT = `must be "bigint", "double", "string" or "decimal(digits,decimals)" with at most ${MAX_DIGITS} digits`;

/** A field of the report's file. A comment in the catalog, which takes one line, quotes it. */
const FieldOfFile = z
  .string()
  .min(1, 'must not be empty')
  .max(100, 'must not have more than 100 characters')
  .regex(/^\P{Cc}*$/u, 'must not have control characters');

const Type = z.string().refine(isColumnType, TYPE_FAULT);

/** A type, or an object with the type, the field of the file or both. */
const Declared = z.preprocess(
  (column) => (typeof column === 'string' ? { type: column } : column),
  z.strictObject({ type: Type.exactOptional(), from: FieldOfFile.exactOptional() }),
);

/** The fields of an export that describe a report's columns. */
export const ColumnFields = z.object({
  /** Types and fields of the file, by the name of a metric or dimension in any case of letters. */
  columns: z.record(z.string(), Declared).optional(),
  /** The column of the file that holds the day. */
  date_column: FieldOfFile.optional(),
});

/** An export of the config, for one or several accounts. Its other fields are the fields of a request. */
export const ExportOfAccounts = z.looseObject({
  ...ColumnFields.shape,
  accounts: z.array(z.string()).min(1, 'must not be empty; omit it for all').optional(),
  // A request has this field. Here, it would be ignored, and the export would be for all accounts.
  account: z.never('must be a list: accounts').optional(),
  runs: z.array(Run).optional(),
});
type ExportOfAccounts = z.infer<typeof ExportOfAccounts>;

/** One export's part of a table: its request and its columns. */
export interface TableSource extends Pick<TableSchema, 'table' | 'kind' | 'columns' | 'date_column'> {
  readonly request: ReportRequest | ListRequest;
}

/** Returns the export's part of its table, if it has one. @throws InvalidInput if the request is faulty */
export function tableSource(entry: ConfiguredEntry): TableSource | undefined {
  // A table does not depend on dates, so any day will do.
  const { request } = parseRequest(requestOf(entry), new Date());
  const table = tableOf(request);
  if (table === undefined || request.kind === 'purchases') return undefined;
  if (request.kind === 'list')
    return { table, kind: 'list', columns: LIST_COLUMNS, date_column: DATE_COLUMN, request };
  const { columns = {}, date_column = DATE_COLUMN } = entry;
  // The table has a column for the date anyway, so it is left out here if it is among the dimensions.
  const inFile = reportColumns(request, columns).filter(({ from }) => !isSame(from, date_column));
  return { table, kind: 'report', columns: inFile, date_column, request };
}

/**
 * The tables of these exports, one for each name.
 *
 * @param config its accounts' currencies. A list has no amounts, and so no currency
 */
export function tablesOf(
  exports: readonly ConfiguredEntry[],
  target: RequestTarget,
  { accounts }: { readonly accounts: Accounts },
): TableSchema[] {
  const sources = exports.map(tableSource).filter((source) => source !== undefined);
  return [...Map.groupBy(sources, ({ table }) => table).values()].map((ofAccounts) => {
    const { request: _, ...table } = ofAccounts.at(-1) as TableSource;
    const requests = ofAccounts.map(
      ({ request }) => [request.account, requestHash(request, target)] as const,
    );
    const currencies = ofAccounts.flatMap(({ kind, request: { account } }) => {
      const code = accounts[account]?.currency;
      return kind === 'report' && code !== undefined ? [[account, code] as const] : [];
    });
    return { ...table, requests: byName(requests), currencies: byName(currencies) };
  });
}

function isColumnType(text: string): text is ColumnType {
  const [, digits, decimals] = /^decimal\(([1-9]\d?),(\d{1,2})\)$/.exec(text) ?? [];
  if (digits === undefined) return ['bigint', 'double', 'string'].includes(text);
  return Number(digits) <= MAX_DIGITS && Number(decimals) <= Number(digits);
}

/** Compares names of fields, whose case does not matter. */
export function isSame(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase();
}
