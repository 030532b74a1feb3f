import { ADVERTISER_COLUMN, catalogName } from '../../functions/workflow/table.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { loadedAt, qualityRules, readyTimes } from './quality.ts';
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
    ...Object.fromEntries(tables.flatMap(testsOf)),
  };
}

function describeSource(table: DocumentedTable, { exports, location }: DbtFacts) {
  const [first] = readyTimes(table, exports).toSorted((one, other) => one.max_age - other.max_age);
  return {
    name: catalogName(table.table),
    description: table.description,
    config: {
      loaded_at_field: loadedAt(table),
      ...(first && { freshness: { warn_after: { count: first.max_age, period: 'hour' } } }),
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

function testsOf(table: DocumentedTable): [path: string, sql: string][] {
  return qualityRules(table).map(({ name, meaning, severity, breaches }) => {
    const config = severity === 'warning' ? `{{ config(severity = 'warn') }}\n` : '';
    return [
      `tests/${catalogName(table.table)}_${name}.sql`,
      `-- ${meaning}.\n${config}${breaches(sourceOf(table))}\n`,
    ];
  });
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

/** Columns that packages about advertising share, and those of a report that they are made of. */
const SHARED_DIMENSIONS = ['campaign_id', 'campaign_name', 'currency'];
const SHARED_METRICS = [
  ['clicks', 'bigint', ['clicks']],
  ['impressions', 'bigint', ['impressions']],
  ['spend', 'decimal(38,6)', ['spend', 'cost']],
  ['conversions', 'double', ['conversions', 'number_of_purchases']],
] as const;

/** Takes each account from one table, the one with most of the columns, so that a sum counts nothing twice. */
function campaignReport(tables: readonly DocumentedTable[], name: string): Model[] {
  const reports = tables.filter(({ kind }) => kind === 'report');
  const accounts = new Set(reports.flatMap(({ time_zones }) => Object.keys(time_zones)));
  const byTable = Map.groupBy(accounts, (account) =>
    reports
      .filter(({ time_zones }) => Object.hasOwn(time_zones, account))
      .reduce((best, each) => (shareOf(each).known > shareOf(best).known ? each : best)),
  );
  if (byTable.size === 0) return [];
  const description =
    'Spend and results per day, account and campaign, in the shape that packages about advertising share. source_relation is the account of the config, and account_id the advertiser, if the report has it.';
  const sql = [...byTable].map(([table, each]) => selectShared(table, each)).join('UNION ALL\n');
  return [{ name, description, sql }];
}

/** The shared columns that a report has. */
function shareOf({ columns }: DocumentedTable) {
  const dimensions = SHARED_DIMENSIONS.filter((name) => columns.some((column) => column.name === name));
  const metrics = SHARED_METRICS.map(([name, type, from]) => {
    const own = from.find((each) => columns.some((column) => column.name === each && column.adds_up));
    return { name, type, own };
  });
  return { dimensions, metrics, known: dimensions.length + metrics.filter(({ own }) => own).length };
}

function selectShared(table: DocumentedTable, accounts: readonly string[]): string {
  const { dimensions, metrics } = shareOf(table);
  const advertiser = table.key.filter((name) => name === ADVERTISER_COLUMN);
  const keys = ['date', 'account', ...advertiser, ...dimensions].map((name) => `"${name}"`);
  const columns = [
    '"date" AS date_day',
    `'{{ var("platform") }}' AS platform`,
    '"account" AS source_relation',
    `${advertiser.length > 0 ? 'coalesce("advertiser_id", "account")' : '"account"'} AS account_id`,
    ...SHARED_DIMENSIONS.map((name) =>
      dimensions.includes(name) ? `"${name}"` : `CAST(NULL AS varchar) AS ${name}`,
    ),
    ...metrics.map(({ name, type, own }) => `CAST(${own ? `sum("${own}")` : 'NULL'} AS ${type}) AS ${name}`),
  ];
  return [
    'SELECT',
    columns.map((column) => `  ${column}`).join(',\n'),
    `FROM {{ ref('${stagingName(table)}') }}`,
    `WHERE "account" IN (${accounts.map((account) => `'${account}'`).join(', ')})`,
    `GROUP BY ${keys.join(', ')}\n`,
  ].join('\n');
}
