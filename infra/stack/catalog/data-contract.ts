import { count } from '../../../functions/workflow/count.ts';
import { catalogName } from '../../../functions/workflow/table.ts';
import project from '../../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import { freshness, loadedAt, ONE_REPORT } from './quality.ts';
import { commentOf, type DocumentedTable } from './table-words.ts';

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
    schema: tables.map((table) => describeTable(table, server.type === 'athena')),
    slaProperties: tables.flatMap((table) => {
      const promised = freshness(table, exports);
      if (!promised) return [];
      const { hours, readyBy } = promised;
      const description = `The newest report is at most ${count(hours, 'hour')} old: a run delivers by ${readyBy}.`;
      const element = `${table.table}.${loadedAt(table)}`;
      return [{ property: 'freshness', value: hours, unit: 'h', element, description }];
    }),
  };
}

const LOGICAL_TYPES: Readonly<Record<string, string>> = { bigint: 'integer', double: 'number' };

function describeTable(table: DocumentedTable, inAthena: boolean) {
  const { kind, description, key, time_zones: timeZones, currencies, columns } = table;
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
  const amounts = Object.keys(currencies).length > 0 && { currencies };
  return {
    // The CLI of the standard takes the name for a folder, and the physical name for SQL.
    name: table.table,
    ...(inAthena && { physicalName: catalogName(table.table) }),
    physicalType: 'table',
    description,
    properties: columns.map((column) => ({
      name: column.name,
      logicalType: LOGICAL_TYPES[column.type] ?? column.type.replace(/^decimal.*/, 'number'),
      physicalType: column.type,
      description: commentOf(column),
      required: column.required ?? false,
      ...(column.unit && customProperties({ unit: column.unit, addsUp: column.adds_up })),
    })),
    ...(kind === 'report' && { ...customProperties({ key, timeZones, ...amounts }), quality: [oneReport] }),
  };
}

function customProperties(values: Readonly<Record<string, unknown>>) {
  return { customProperties: Object.entries(values).map(([property, value]) => ({ property, value })) };
}
