import { ADVERTISER_COLUMN, catalogName } from '../../../functions/workflow/table.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { LEDGER_TEST, ledgerTestMacro, ledgerTests } from './dbt-ledger-test.ts';
import { freshness, loadedAt, ONE_REPORT } from './quality.ts';
import { commentOf, type DocumentedTable } from './table-words.ts';

interface DbtFacts {
  /** In letters, digits and `_`. */
  readonly project: string;
  readonly platform: string;
  /** The output of a profile, and the fields of a source: where the tables are. */
  readonly profile: Readonly<Record<string, unknown>>;
  readonly source: Readonly<Record<string, string>>;
  /** The relation that dbt-duckdb reads for a table, in SQL. */
  readonly location?: (table: string) => string;
  /** The exports of the config. Their times say how old the newest report may be. */
  readonly exports: readonly ConfiguredExport[];
}

/** By path: SQL, or the content of a YAML file. */
export type DbtFiles = Readonly<Record<string, string | object>>;

export function createDbtProject(tables: readonly DocumentedTable[], facts: DbtFacts): DbtFiles {
  const { project, platform, profile, source } = facts;
  const reports = tables.filter(({ kind }) => kind === 'report');
  const ledger = tables.find(({ kind }) => kind === 'ledger');
  const models = [
    ...tables
      .filter(({ kind }) => kind !== 'ledger')
      .map((table) => stagingModel(table, ledger !== undefined)),
    ...campaignReport(reports, `${project}__campaign_report`),
  ];
  const { name: rule, meaning, breaches } = ONE_REPORT;
  const test = (table: DocumentedTable) => `-- ${meaning}.\n${breaches(dbtSource(table))}\n`;
  return {
    'dbt_project.yml': {
      name: project,
      profile: project,
      vars: { platform },
      models: { [project]: { '+materialized': 'view' } },
    },
    'profiles.yml': { [project]: { target: 'dev', outputs: { dev: profile } } },
    'models/sources.yml': {
      sources: [{ name: 'exports', ...source, tables: tables.map((table) => describeSource(table, facts)) }],
    },
    'models/models.yml': { models: models.map(({ sql: _, ...model }) => model) },
    ...(ledger && { [`macros/${LEDGER_TEST}.sql`]: ledgerTestMacro(reports, dbtSource(ledger)) }),
    ...Object.fromEntries(models.map(({ name, sql }) => [`models/${name}.sql`, sql])),
    ...Object.fromEntries(
      reports.map((report) => [`tests/${catalogName(report.table)}_${rule}.sql`, test(report)]),
    ),
  };
}

function describeSource(table: DocumentedTable, { exports, location }: DbtFacts) {
  const promised = freshness(table, exports);
  return {
    name: catalogName(table.table),
    description: table.description,
    config: {
      loaded_at_field: loadedAt(table),
      ...(promised && { freshness: { warn_after: { count: promised.hours, period: 'hour' } } }),
      ...(location && { external_location: location(table.table) }),
    },
    columns: table.columns.map((column) => ({
      name: column.name,
      description: commentOf(column),
      // Only an export writes the ledger, and each test is a query.
      ...(column.required && table.kind !== 'ledger' && { data_tests: ['not_null'] }),
    })),
  };
}

function dbtSource({ table }: DocumentedTable): string {
  return `{{ source('exports', '${catalogName(table)}') }}`;
}

function stagingName({ table }: DocumentedTable): string {
  return `stg_${catalogName(table)}`;
}

/** @param hasLedger its sums are tested with it */
function stagingModel(table: DocumentedTable, hasLedger: boolean) {
  const columns = table.columns.map(({ name }) => `  "${name}"`).join(',\n');
  const sql = `SELECT\n${columns}\nFROM ${dbtSource(table)}\n`;
  const tested = hasLedger && table.kind === 'report' ? ledgerTests(table) : [];
  return {
    name: stagingName(table),
    description: table.description,
    ...(tested.length > 0 && { columns: tested }),
    sql,
  };
}

/** Columns that packages about advertising share, and the columns of a report from which they are made. */
const SHARED: readonly (readonly [name: string, type: string, ...from: string[]])[] = [
  ['campaign_id', 'varchar', 'campaign_id'],
  ['campaign_name', 'varchar', 'campaign_name'],
  ['currency', 'varchar', 'currency'],
  ['clicks', 'bigint', 'clicks'],
  ['impressions', 'bigint', 'impressions'],
  ['spend', 'decimal(38,6)', 'spend', 'cost'],
  ['conversions', 'double', 'conversions', 'number_of_purchases'],
];

/**
 * The shared columns. Dimensions are of type varchar. `sql` is undefined for a column that the table lacks.
 */
function sharedColumns({ columns }: DocumentedTable) {
  return SHARED.map(([name, type, ...from]) => {
    const known = columns.filter((column) => type === 'varchar' || column.adds_up);
    const source = from.find((candidate) => known.some((column) => column.name === candidate));
    return { name, type, sql: source && (type === 'varchar' ? `"${source}"` : `sum("${source}")`) };
  });
}

/** Takes each account from the table with most of the columns, so that a sum counts nothing twice. */
function campaignReport(reports: readonly DocumentedTable[], name: string) {
  const lacking = (table: DocumentedTable) => sharedColumns(table).filter(({ sql }) => !sql).length;
  const best = reports.toSorted((first, second) => lacking(first) - lacking(second));
  const selects = best.flatMap((table, at) => {
    const isTaken = (account: string) =>
      best.slice(0, at).some(({ time_zones }) => Object.hasOwn(time_zones, account));
    const accounts = Object.keys(table.time_zones).filter((account) => !isTaken(account));
    return accounts.length > 0 ? [selectShared(table, accounts)] : [];
  });
  if (selects.length === 0) return [];
  const description =
    'Spend and results per day, account and campaign, in the shape that packages about advertising share. source_relation is the account of the config, and account_id the advertiser, if the report has it.';
  return [{ name, description, sql: selects.join('UNION ALL\n') }];
}

function selectShared(table: DocumentedTable, accounts: readonly string[]): string {
  const hasAdvertiser = table.key.includes(ADVERTISER_COLUMN);
  const keys = [
    '"date" AS date_day',
    `'{{ var("platform") }}' AS platform`,
    '"account" AS source_relation',
    `${hasAdvertiser ? `coalesce("${ADVERTISER_COLUMN}", "account")` : '"account"'} AS account_id`,
  ];
  const shared = sharedColumns(table).map(
    ({ name, type, sql = 'NULL' }) => `CAST(${sql} AS ${type}) AS ${name}`,
  );
  const dimensions = SHARED.filter(([, type]) => type === 'varchar');
  return [
    'SELECT',
    [...keys, ...shared].map((column) => `  ${column}`).join(',\n'),
    `FROM {{ ref('${stagingName(table)}') }}`,
    `WHERE "account" IN (${accounts.map((account) => `'${account}'`).join(', ')})`,
    `GROUP BY ${[...keys, ...dimensions].map((_, at) => at + 1).join(', ')}\n`,
  ].join('\n');
}
