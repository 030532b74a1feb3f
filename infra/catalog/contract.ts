import { catalogName } from '../../functions/workflow/table.ts';
import project from '../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { freshness, loadedAt, ONE_REPORT } from './quality.ts';
import { commentOf, type DocumentedColumn, type DocumentedTable } from './table-words.ts';

/**
 * A contract of the Open Data Contract Standard.
 *
 * @param server the place of the tables, as the standard writes it
 * @param config its times of day are the service levels
 */
export function createContract(
  tables: readonly DocumentedTable[],
  server: Readonly<Record<string, string>>,
  { stack, exports }: Pick<Config, 'stack' | 'exports'>,
) {
  return {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: stack,
    name: stack,
    version: project.version,
    status: 'active',
    description: {
      purpose: "An advertising platform's reports. Each day of an account is in its table once.",
      limitations:
        'The platform restates recent days. The ledger has each value that a day has shown, and when.',
      usage: 'Sum only metrics that add up, and never amounts of different currencies.',
    },
    servers: [server],
    // The CLI of the standard takes the name for a folder, and the physical name for SQL.
    schema: tables.map((table) => ({
      name: table.table,
      ...(server.type === 'athena' && { physicalName: catalogName(table.table) }),
      ...describeSchema(table),
    })),
    slaProperties: tables.flatMap((table) => serviceLevels(table, exports)),
  };
}

function describeSchema(table: DocumentedTable) {
  const { kind, description, key, time_zones, currencies, columns } = table;
  const { name, meaning, breaches } = ONE_REPORT;
  const oneReport = {
    name,
    description: `${meaning}.`,
    dimension: 'uniqueness',
    severity: 'error',
    type: 'sql',
    query: `SELECT count(*) FROM (${breaches(`\${table}`)}) AS breaches`,
    mustBe: 0,
  };
  return {
    physicalType: 'table',
    description,
    properties: columns.map(describeProperty),
    ...(kind === 'report' && {
      customProperties: customProperties({
        key,
        timeZones: time_zones,
        ...(Object.keys(currencies).length > 0 && { currencies }),
      }),
      quality: [oneReport],
    }),
  };
}

const LOGICAL_TYPES: Readonly<Record<string, string>> = { bigint: 'integer', double: 'number' };

function describeProperty(column: DocumentedColumn) {
  const { name, type, unit, adds_up: addsUp, required = false } = column;
  return {
    name,
    logicalType: LOGICAL_TYPES[type] ?? type.replace(/^decimal.*/, 'number'),
    physicalType: type,
    description: commentOf(column),
    required,
    ...(unit !== undefined && { customProperties: customProperties({ unit, addsUp }) }),
  };
}

function customProperties(values: Readonly<Record<string, unknown>>) {
  return Object.entries(values).map(([property, value]) => ({ property, value }));
}

function serviceLevels(table: DocumentedTable, exports: readonly ConfiguredExport[]) {
  const promised = freshness(table, exports);
  if (!promised) return [];
  const description = `The newest report is at most ${promised.hours} hours old: a run delivers by ${promised.readyBy}.`;
  const element = `${table.table}.${loadedAt(table)}`;
  return [{ property: 'freshness', value: promised.hours, unit: 'h', element, description }];
}
