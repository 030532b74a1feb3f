import { requestHash } from '../../functions/decisions/request-hash.ts';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import { parseRequest } from '../../functions/workflow/request/request.ts';
import {
  ADVERTISER_COLUMN,
  catalogName,
  columnName,
  type DeclaredColumn,
  RESERVED_COLUMNS,
} from '../../functions/workflow/table.ts';
import {
  type ConfiguredEntry,
  DateColumn,
  DeclaredColumns,
  isSame,
  requestOf,
  type TableSource,
  tableSource,
} from './exports.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Faults of the exports: each must be a request that an execution would accept, and their tables must not
 * contradict each other. Looks at the raw config, so that a fault elsewhere hides none of these.
 */
export function exportFaults(context: unknown): string[] {
  const { exports, accounts, tables, revision, currency } = fieldsOf(context);
  if (!Array.isArray(exports)) return [];
  const entries = exports.map(fieldsOf);
  const names = entries.map(({ account, name }) => `${account}/${name}`);
  const faults = entries.flatMap((entry, at) => {
    const request = requestOf(entry);
    return [
      ...requestFaults(request),
      ...accountFault('account', request.account, accounts),
      ...(entry.schedule === undefined ? [] : scheduleFaults(request)),
      ...(names.indexOf(names[at] ?? '') < at
        ? [`name: the account has another export ${request.name}`]
        : []),
    ].map((fault) => (/^[\w.[\]]+: /.test(fault) ? `exports[${at}].${fault}` : `exports[${at}]: ${fault}`));
  });
  return tables === false
    ? faults
    : [...faults, ...tableFaults(entries, String(revision), fieldsOf(currency))];
}

/** Faults of the settings whose keys are accounts. */
export function accountFaults(context: unknown): string[] {
  const { accounts, ...settings } = fieldsOf(context);
  return ['time_zones', 'currency'].flatMap((setting) =>
    Object.keys(fieldsOf(settings[setting])).flatMap((name) => accountFault(setting, name, accounts)),
  );
}

/** Regions of GovCloud and China. CloudFormation has no resource for a Slack channel there. */
const WITHOUT_SLACK = /^(us-gov|cn)-/;

/** Faults of alarms and of the key. @param region to which the stack would be deployed, if it is known */
export function targetFaults(context: unknown, region?: string): string[] {
  const settings = fieldsOf(context);
  const { alarm_topic_arn, alarm_emails, slack } = settings;
  const faults = [];
  if (alarm_topic_arn !== undefined && Array.isArray(alarm_emails) && alarm_emails.length > 0)
    faults.push(
      'alarm_emails: cannot be combined with alarm_topic_arn; subscribe the addresses to that topic',
    );
  if (!region) return faults;
  for (const setting of ['alarm_topic_arn', 'kms_key']) {
    const [, , , itsRegion] = String(settings[setting]).split(':');
    if (itsRegion && itsRegion !== region)
      faults.push(`${setting}: is in ${itsRegion}, but must be in ${region}, as the stack would be`);
  }
  if (slack !== undefined && WITHOUT_SLACK.test(region))
    faults.push(`slack: AWS has no chat service in ${region}; leave it out, and use alarm_emails`);
  return faults;
}

function requestFaults(request: Fields): readonly string[] {
  try {
    parseRequest(request, new Date());
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as readonly string[];
    throw error;
  }
}

function scheduleFaults({ kind, period, snapshot_date, only_missing }: Fields): string[] {
  const faults = [];
  if (snapshot_date !== undefined)
    faults.push('snapshot_date: a schedule would export the same day every time');
  // A list is a snapshot of the day on which it is made.
  if (kind !== 'list' && period === undefined)
    faults.push('period: is missing; a schedule with fixed dates would export the same days every time');
  if (only_missing)
    faults.push(
      'only_missing: cannot be combined with a schedule, which would deliver nothing once everything is delivered',
    );
  return faults;
}

function accountFault(path: string, name: unknown, accounts: unknown): string[] {
  if (typeof name !== 'string' || !Array.isArray(accounts) || accounts.includes(name)) return [];
  return [`${path}: ${name} is not one of accounts (${accounts.join(', ')})`];
}

/** An export without faults of its own. */
interface Readable {
  /** Its path in the config. */
  readonly path: string;
  readonly entry: ConfiguredEntry;
  /** Undefined if it has no table. */
  readonly source: TableSource | undefined;
}

function tableFaults(entries: readonly Fields[], revision: string, currency: Fields): string[] {
  const exports = entries.flatMap((entry, at) => read(entry, `exports[${at}]`));
  const pairs = exports.flatMap((one, at) => exports.slice(0, at).map((earlier) => [one, earlier] as const));
  return [
    ...exports.flatMap(columnFaults),
    ...pairs.flatMap(([one, earlier]) => contradictions(one, earlier, revision)),
    ...currencyFaults(exports, currency),
  ];
}

/** Amounts of an account without a currency would stand beside those of another, and a sum would mix them. */
function currencyFaults(exports: readonly Readable[], currency: Fields): string[] {
  const reports = exports.flatMap(({ source }) => (source?.kind === 'report' ? [source] : []));
  return [...Map.groupBy(reports, ({ table }) => table)].flatMap(([table, sharing]) => {
    const accounts = new Set(sharing.map(({ request }) => request.account));
    const without = [...accounts].filter((account) => !Object.hasOwn(currency, account));
    if (without.length === accounts.size) return [];
    return without.map(
      (account) => `currency.${account}: is missing; other accounts of the table ${table} have one`,
    );
  });
}

/** Nothing if the entry is faulty: other checks name those faults. */
function read(raw: Fields, path: string): Readable[] {
  const columns = DeclaredColumns.optional().safeParse(raw.columns);
  const date_column = DateColumn.optional().safeParse(raw.date_column);
  if (!columns.success || !date_column.success) return [];
  const entry = { ...raw, columns: columns.data, date_column: date_column.data };
  try {
    return [{ path, entry, source: tableSource(entry) }];
  } catch (error) {
    if (error instanceof InvalidInput) return [];
    throw error;
  }
}

function columnFaults({ path, entry, source }: Readable): string[] {
  if (source?.request.kind !== 'report')
    return ['columns', 'date_column']
      .filter((field) => entry[field] !== undefined)
      .map((field) => `${path}.${field}: needs a report that has a table`);
  const { metrics, dimensions = [] } = source.request;
  const named = [...dimensions, ...metrics, ADVERTISER_COLUMN];
  return [
    ...nameFaults(source).map((fault) => `${path}.${fault}`),
    ...declaredFaults(entry.columns ?? {}, named, source.date_column).map(
      (fault) => `${path}.columns.${fault}`,
    ),
  ];
}

/** Names of a request that cannot be columns of its table beside the others. */
export function nameFaults({ columns, request }: TableSource): string[] {
  if (request.kind === 'list') return [];
  const { metrics, dimensions = [] } = request;
  // Without the date, which tables have anyway.
  const reserved = columns.map(({ name }) => name).filter((name) => RESERVED_COLUMNS.includes(name));
  const hasAdvertiser = dimensions.length === 0 || dimensions.some((name) => isSame(name, ADVERTISER_COLUMN));
  const named = [
    ...dimensions.map((name) => ['dimensions', name] as const),
    ...(hasAdvertiser ? [] : [['dimensions', ADVERTISER_COLUMN] as const]),
    ...metrics.map((name) => ['metrics', name] as const),
  ];
  const shared = Map.groupBy(named, ([, name]) => columnName(name));
  return [
    ...named
      .filter(([, name]) => reserved.includes(columnName(name)))
      .map(
        ([field, name]) =>
          `${field}: ${name} is a column that tables or their views have already; set table to false`,
      ),
    ...[...shared].flatMap(([column, same]) => {
      const [field, ...others] = same.map(([field]) => field).toReversed();
      const names = same.map(([, name]) => name).join(' and ');
      return others.length > 0 ? [`${field}: ${names} would both be the column ${column}`] : [];
    }),
  ];
}

function declaredFaults(
  declared: Readonly<Record<string, DeclaredColumn>>,
  named: readonly string[],
  date_column: string,
): string[] {
  return Object.entries(declared).flatMap(([name, { from = name }]) => {
    if (isSame(from, date_column)) return [`${name}: is the date, which date_column names`];
    if (named.some((other) => isSame(other, name))) return [];
    return [`${name}: is neither a metric nor a dimension of the report`];
  });
}

/** Exports may share a table with the same columns. One account fills it with one request. */
function contradictions(
  { path, source }: Readable,
  { path: other, source: earlier }: Readable,
  revision: string,
): string[] {
  if (!source || !earlier || catalogName(source.table) !== catalogName(earlier.table)) return [];
  const { table, request } = source;
  const isSameAccount = request.account === earlier.request.account;
  if (isSameAccount && request.name === earlier.request.name) return [];
  if (table !== earlier.table)
    return [
      `${path}.table: ${table} would have the name of ${earlier.table} (${other}) in the catalog, ${catalogName(table)}`,
    ];
  const here = describeColumns(source);
  const there = describeColumns(earlier);
  const differences = [
    ...here.filter((column) => !there.includes(column)).map((column) => `only ${path} has ${column}`),
    ...there.filter((column) => !here.includes(column)).map((column) => `only ${other} has ${column}`),
  ];
  if (differences.length > 0)
    return [
      `${path}.table: exports that share ${table} need the same columns, but ${differences.join(', ')}`,
    ];
  const hash = (each: TableSource) => requestHash(each.request, { platform: '', revision });
  return isSameAccount && hash(source) !== hash(earlier)
    ? [`${path}.table: another request of the account fills ${table} (${other})`]
    : [];
}

function describeColumns({ date_column, columns }: TableSource): string[] {
  return [
    `the date column ${date_column}`,
    ...columns.map(({ name, type, from }) => `${name} ${type}${isSame(name, from) ? '' : ` from ${from}`}`),
  ];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
