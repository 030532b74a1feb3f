import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { fieldsOf, type JsonObject } from '../../../functions/workflow/json.ts';
import { canRead } from '../../../functions/workflow/request/report.ts';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import {
  ADVERTISER_COLUMN,
  catalogName,
  columnName,
  RESERVED_COLUMNS,
} from '../../../functions/workflow/table.ts';
import {
  type Accounts,
  ColumnFields,
  type ConfiguredExport,
  expandExport,
  isSame,
  requestOf,
  type TableSource,
  tableSource,
} from './exports.ts';

/**
 * Faults of the exports: each must be a request that an execution would accept, and each name has one table.
 * Looks at the raw config, so that a fault elsewhere hides none of these.
 */
export function exportFaults(context: unknown): string[] {
  const { exports, accounts, tables } = fieldsOf(context);
  if (!Array.isArray(exports)) return [];
  const known = fieldsOf(accounts);
  const hasTables = tables !== false;
  const all = exports.map((raw, at) => expandRawExport(fieldsOf(raw), `exports[${at}]`, known));
  return [
    ...all.flatMap((rawExport) => [
      ...unknownAccountFaults(rawExport, known),
      ...contradictions(rawExport, hasTables),
      ...requestFaults(rawExport, known),
    ]),
    ...repeatedNameFaults(all),
    ...(hasTables ? tableFaults(all) : []),
  ];
}

/** An export of the raw config, and its path there. */
type RawExport = ReturnType<typeof expandRawExport>;

function expandRawExport(raw: JsonObject, path: string, known: JsonObject) {
  const named = Array.isArray(raw.accounts) ? raw.accounts.map(String) : Object.keys(known);
  // An export is checked even if there is no account for it.
  const accounts = named.length > 0 ? named : ['none'];
  const runs = Array.isArray(raw.runs) ? raw.runs.map(fieldsOf) : [];
  const entries = expandExport({ ...raw, account: undefined, accounts, runs }, known as Accounts);
  return { path, raw, runs, entries };
}

function unknownAccountFaults({ path, raw }: RawExport, known: JsonObject): string[] {
  const names = Object.keys(known);
  const unknown = Array.isArray(raw.accounts) ? raw.accounts.filter((name) => !names.includes(name)) : [];
  return unknown.map((name) => `${path}.accounts: ${name} is not one of accounts (${names.join(', ')})`);
}

/** Fields that name days. A run would export the same days every time. */
const DAYS = ['start_date', 'end_date', 'snapshot_date', 'only_missing'];

/** Fields of an export that something else in the config excludes. */
interface Contradiction {
  readonly fields: readonly string[];
  readonly isExcluded: (rawExport: RawExport, hasTables: boolean) => boolean;
  readonly reason: (rawExport: RawExport) => string;
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    fields: ['advertiser_ids', 'advertiser_id'],
    isExcluded: ({ entries }) => entries.length > 1,
    reason: ({ entries }) => `needs an export of one account, and this one has ${entries.length}`,
  },
  {
    fields: DAYS,
    isExcluded: ({ runs }) => runs.length > 0,
    reason: () => 'cannot be combined with runs, which have a period',
  },
  {
    fields: ['reconcile', 'warn_below'],
    isExcluded: (_, hasTables) => !hasTables,
    reason: () => 'needs tables',
  },
];

function contradictions(rawExport: RawExport, hasTables: boolean): string[] {
  const { path, raw } = rawExport;
  const broken = CONTRADICTIONS.filter(({ isExcluded }) => isExcluded(rawExport, hasTables));
  return broken.flatMap(({ fields, reason }) =>
    fields.filter((field) => raw[field]).map((field) => `${path}.${field}: ${reason(rawExport)}`),
  );
}

/** Fields of a request that its account may have. */
const OF_ACCOUNT = ['advertiser_ids', 'time_zone'];

function requestFaults({ path, raw, runs, entries }: RawExport, known: JsonObject): string[] {
  const place = (fault: string, account: string, at: number): string[] => {
    const [, field = ''] = /^(\w+)[.[:]/.exec(fault) ?? [];
    const run = runs[at];
    if (field === '') return [`${path}: ${fault}`];
    if (run?.[field] !== undefined) return [`${path}.runs[${at}].${fault}`];
    if (run && raw[field] === undefined && DAYS.includes(field))
      return [`${path}.runs[${at}].period: is missing`];
    if (raw[field] !== undefined || !OF_ACCOUNT.includes(field)) return [`${path}.${fault}`];
    return known[account] ? [`accounts.${account}.${fault}`] : [];
  };
  return entries.flatMap((entry) => {
    const requests = runs.length > 0 ? entry.runs.map(({ request }) => request) : [requestOf(entry)];
    return requests.flatMap((request, at) =>
      faultsOf(request).flatMap((fault) => place(fault, entry.account, at)),
    );
  });
}

function faultsOf(request: JsonObject): readonly string[] {
  try {
    parseRequest(request, new Date());
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as readonly string[];
    throw error;
  }
}

function repeatedNameFaults(exports: readonly RawExport[]): string[] {
  const all = exports.flatMap(({ path, entries }) =>
    entries.map(({ account, name }) => ({ path, id: `${account}/${name}` })),
  );
  const repeated = all.filter(({ id }, at) => all.findIndex((earlier) => earlier.id === id) < at);
  return repeated.map(({ path, id }) => `${path}.name: there is another export ${id}`);
}

/** Faults of the tables of exports that have no other fault. */
function tableFaults(exports: readonly RawExport[]): string[] {
  const tables = new Map<string, TableSource & { readonly path: string }>();
  return exports.flatMap(({ path, entries: [entry] }) => {
    const { data } = ColumnFields.safeParse(entry);
    if (!entry || !data || faultsOf(requestOf(entry)).length > 0) return [];
    const source = tableSource({ ...entry, ...data });
    if (!source) return [];
    const earlier = tables.get(catalogName(source.table));
    tables.set(catalogName(source.table), { ...source, path });
    const faults = [
      ...declaredColumnFaults(source, data.columns),
      ...formatFaults(source),
      ...(earlier ? sharingFaults(source, earlier) : []),
    ];
    return faults.map((fault) => `${path}${fault}`);
  });
}

/** A name has one table. */
function sharingFaults(source: TableSource, earlier: TableSource & { readonly path: string }): string[] {
  const { table } = source;
  if (table !== earlier.table)
    return [
      `.name: the table of ${earlier.table} (${earlier.path}) would have the same name, ${catalogName(table)}`,
    ];
  const formOf = ({ date_column, columns }: TableSource) =>
    JSON.stringify([date_column, columns.toSorted((first, second) => (first.name < second.name ? -1 : 1))]);
  if (formOf(source) === formOf(earlier)) return [];
  return [`: has other columns than ${earlier.path}, which has the same name and so the same table`];
}

function formatFaults({ request }: TableSource): string[] {
  if (request.kind === 'list' || canRead(request.format)) return [];
  return [
    `.format: the rows of ${request.format} cannot be read into a table; ask for JSON or CSV, or set table to false`,
  ];
}

function declaredColumnFaults(source: TableSource, declared: ConfiguredExport['columns'] = {}): string[] {
  const { request, date_column } = source;
  const { metrics = [], dimensions = [] } = request.kind === 'report' ? request : {};
  const named = [...metrics, ...dimensions, ADVERTISER_COLUMN];
  return [
    ...columnNameFaults(source).map((fault) => `.${fault}`),
    ...Object.entries(declared).flatMap(([name, { from = name }]) => {
      if (isSame(from, date_column)) return [`.columns.${name}: is the date, which date_column names`];
      if (named.some((field) => isSame(field, name))) return [];
      return [`.columns.${name}: is neither a metric nor a dimension of the report`];
    }),
  ];
}

/** Names of a request that cannot be columns of its table beside the others. */
export function columnNameFaults({ columns, request }: TableSource): string[] {
  if (request.kind === 'list') return [];
  const { metrics, dimensions = [] } = request;
  const hasAdvertiser = dimensions.length === 0 || dimensions.some((name) => isSame(name, ADVERTISER_COLUMN));
  const names = [...dimensions, ...(hasAdvertiser ? [] : [ADVERTISER_COLUMN]), ...metrics];
  const fieldOf = (name: string) => (metrics.includes(name) ? 'metrics' : 'dimensions');
  return [
    // Without the date, which tables have anyway.
    ...columns
      .filter(({ name }) => RESERVED_COLUMNS.includes(name))
      .map(({ from }) => {
        return `${fieldOf(from)}: ${from} is a column that tables or their views have already; set table to false`;
      }),
    ...[...Map.groupBy(names, columnName)].flatMap(([column, same]) =>
      same.length > 1
        ? [`${fieldOf(same.at(-1) ?? '')}: ${same.join(' and ')} would both be the column ${column}`]
        : [],
    ),
  ];
}
