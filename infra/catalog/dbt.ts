import { ADVERTISER_COLUMN, catalogName } from '../../functions/workflow/table.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { freshness, loadedAt, ONE_REPORT } from './quality.ts';
import { commentOf, type DocumentedTable } from './table-words.ts';

interface DbtFacts {
  /** In letters, digits and `_`. */
  readonly project: string;
  readonly platform: string;
  /** The output of a profile, and the fields of a source: where the tables are. */
  readonly profile: Readonly<Record<string, unknown>>;
  readonly source: Readonly<Record<string, string>>;
  /** What dbt-duckdb reads for a table, in SQL. */
  readonly location?: (table: string) => string;
  /** Of the config. Their times say how old the newest report may be. */
  readonly exports: readonly ConfiguredExport[];
}

interface Model {
  readonly name: string;
  readonly description: string;
  readonly sql: string;
}

/** By path: SQL, or what YAML is made of. */
export type DbtFiles = Readonly<Record<string, string | object>>;

export function createDbtProject(tables: readonly DocumentedTable[], facts: DbtFacts): DbtFiles {
  const { project, platform, profile, source } = facts;
  const models = [...tables.flatMap(stagingModel), ...campaignReport(tables, `${project}__campaign_report`)];
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
    'models/models.yml': { models: models.map(({ name, description }) => ({ name, description })) },
    ...Object.fromEntries(models.map(({ name, sql }) => [`models/${name}.sql`, sql])),
    ...Object.fromEntries(tables.filter(({ kind }) => kind === 'report').map(testOf)),
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

function testOf(table: DocumentedTable): [path: string, sql: string] {
  const { name, meaning, breaches } = ONE_REPORT;
  return [`tests/${catalogName(table.table)}_${name}.sql`, `-- ${meaning}.\n${breaches(sourceOf(table))}\n`];
}

function sourceOf({ table }: DocumentedTable): string {
  return `{{ source('exports', '${catalogName(table)}') }}`;
}

function stagingName({ table }: DocumentedTable): string {
  return `stg_${catalogName(table)}`;
}

function stagingModel(table: DocumentedTable): Model[] {
  if (table.kind === 'ledger') return [];
  const columns = table.columns.map(({ name }) => `  "${name}"`).join(',\n');
  const sql = `SELECT\n${columns}\nFROM ${sourceOf(table)}\n`;
  return [{ name: stagingName(table), description: table.description, sql }];
}

/** Columns that packages about advertising share, and the columns of a report from which they are made. */
const SHARED: readonly (readonly [name: string, type: string, from: readonly string[]])[] = [
  ['campaign_id', 'varchar', ['campaign_id']],
  ['campaign_name', 'varchar', ['campaign_name']],
  ['currency', 'varchar', ['currency']],
  ['clicks', 'bigint', ['clicks']],
  ['impressions', 'bigint', ['impressions']],
  ['spend', 'decimal(38,6)', ['spend', 'cost']],
  ['conversions', 'double', ['conversions', 'number_of_purchases']],
];

/** The shared columns, each with the column that it is made from. Dimensions are of type varchar. */
function sharedColumns({ columns }: DocumentedTable) {
  return SHARED.map(([name, type, from]) => {
    const known = columns.filter((column) => type === 'varchar' || column.adds_up);
    const own = from.find((each) => known.some((column) => column.name === each));
    return { name, type, own: own && `"${own}"` };
  });
}

/** Takes each account from the table with most of the columns, so that a sum counts nothing twice. */
function campaignReport(tables: readonly DocumentedTable[], name: string): Model[] {
  const wealth = (table: DocumentedTable) => sharedColumns(table).filter(({ own }) => own).length;
  const reports = tables
    .filter(({ kind }) => kind === 'report')
    .toSorted((one, other) => wealth(other) - wealth(one));
  const accounts = new Set(reports.flatMap(({ time_zones }) => Object.keys(time_zones)));
  const byTable = Map.groupBy(accounts, (account) =>
    reports.find(({ time_zones }) => Object.hasOwn(time_zones, account)),
  );
  const selects = [...byTable].flatMap(([table, each]) => (table ? [selectShared(table, each)] : []));
  if (selects.length === 0) return [];
  const description =
    'Spend and results per day, account and campaign, in the shape that packages about advertising share. source_relation is the account of the config, and account_id the advertiser, if the report has it.';
  return [{ name, description, sql: selects.join('UNION ALL\n') }];
}

function selectShared(table: DocumentedTable, accounts: readonly string[]): string {
  const shared = sharedColumns(table);
  const advertiser = table.key.includes(ADVERTISER_COLUMN) ? [`"${ADVERTISER_COLUMN}"`] : [];
  const dimensions = shared.flatMap(({ type, own }) => (own && type === 'varchar' ? [own] : []));
  const columns = [
    '"date" AS date_day',
    `'{{ var("platform") }}' AS platform`,
    '"account" AS source_relation',
    `${advertiser.length > 0 ? `coalesce(${advertiser}, "account")` : '"account"'} AS account_id`,
    ...shared.map(({ name, type, own = 'NULL' }) => {
      const value = own === 'NULL' || type === 'varchar' ? own : `sum(${own})`;
      return `CAST(${value} AS ${type}) AS ${name}`;
    }),
  ];
  return [
    'SELECT',
    columns.map((column) => `  ${column}`).join(',\n'),
    `FROM {{ ref('${stagingName(table)}') }}`,
    `WHERE "account" IN (${accounts.map((account) => `'${account}'`).join(', ')})`,
    `GROUP BY ${['"date"', '"account"', ...advertiser, ...dimensions].join(', ')}\n`,
  ].join('\n');
}
