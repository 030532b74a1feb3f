import { catalogName } from '../../functions/workflow/table.ts';
import project from '../../package.json' with { type: 'json' };
import type { Config } from '../config/config.ts';
import type { ConfiguredExport } from '../config/exports.ts';
import { loadedAt, qualityRules, readyTimes } from './quality.ts';
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
    // The CLI of the standard takes the name as that of a folder, and a physical name as that in SQL.
    schema: tables.map((table) => ({
      name: table.table,
      ...(server.type === 'athena' && { physicalName: catalogName(table.table) }),
      ...describeSchema(table),
    })),
    slaProperties: tables.flatMap((table) => serviceLevels(table, exports)),
  };
}

function describeSchema(table: DocumentedTable) {
  const { description, key, time_zones, currencies, columns } = table;
  return {
    physicalType: 'table',
    description,
    customProperties: customProperties({ key, timeZones: time_zones, currencies }),
    properties: columns.map(describeProperty),
    quality: qualityRules(table).map(({ name, meaning, severity, breaches }) => ({
      name,
      description: `${meaning}.`,
      dimension: 'uniqueness',
      severity,
      type: 'sql',
      query: `SELECT count(*) FROM (${breaches(`\${table}`)}) AS breaches`,
      mustBe: 0,
    })),
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

/** Leaves out what is empty. */
function customProperties(values: Readonly<Record<string, unknown>>) {
  return Object.entries(values).flatMap(([property, value]) =>
    typeof value === 'object' && Object.keys(Object(value)).length === 0 ? [] : [{ property, value }],
  );
}

function serviceLevels(table: DocumentedTable, exports: readonly ConfiguredExport[]) {
  const element = `${table.table}.${loadedAt(table)}`;
  return readyTimes(table, exports).flatMap(({ ready_by, time_zone, expression, max_age }) => [
    {
      property: 'timeOfAvailability',
      value: ready_by,
      element,
      description: `The days of the run are there by ${ready_by} in ${time_zone}.`,
      scheduler: 'EventBridge Scheduler',
      schedule: expression,
    },
    {
      property: 'freshness',
      value: max_age,
      unit: 'h',
      element,
      description: `The newest report is at most ${max_age} hours old.`,
    },
  ]);
}
