import type { ConfiguredExport } from '../config/exports.ts';
import { loadedAt, qualityRules, readyTimes } from './quality.ts';
import { commentOf, type DocumentedColumn, type DocumentedTable } from './table-words.ts';

/** The version of the Open Data Contract Standard. */
const STANDARD = 'v3.1.0';

/** The place of the tables, as the standard writes it. */
export interface ContractServer {
  readonly server: string;
  readonly type: 'athena' | 'local';
  readonly [field: string]: string;
}

interface ContractFacts {
  readonly name: string;
  readonly version: string;
  readonly server: ContractServer;
  /** Of the config. Their times are the contract's service levels. */
  readonly exports: readonly ConfiguredExport[];
}

/**
 * A contract of the Open Data Contract Standard.
 *
 * @param physicalName the table's name in SQL; undefined if it is that of its folder
 */
export function createContract(
  tables: readonly DocumentedTable[],
  { name, version, server, exports }: ContractFacts,
  physicalName: (table: string) => string | undefined,
) {
  return {
    apiVersion: STANDARD,
    kind: 'DataContract',
    id: name,
    name,
    version,
    status: 'active',
    description: {
      purpose: "An advertising platform's reports. Each day of an account is in its table once.",
      limitations:
        'The platform restates recent days. The ledger has each value that a day has shown, and when.',
      usage: 'Sum only metrics that add up, and never amounts of different currencies.',
    },
    servers: [server],
    schema: tables.map((table) => schemaOf(table, physicalName(table.table))),
    slaProperties: tables.flatMap((table) => serviceLevels(table, exports)),
  };
}

function schemaOf(table: DocumentedTable, physicalName: string | undefined) {
  const { description, key, time_zones, currencies, columns } = table;
  return {
    name: table.table,
    ...(physicalName !== undefined && { physicalName }),
    physicalType: 'table',
    logicalType: 'object',
    description,
    customProperties: customProperties({ key, timeZones: time_zones, currencies }),
    properties: columns.map(propertyOf),
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

function propertyOf(column: DocumentedColumn) {
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
  const element = `${table.table}.${loadedAt(table)?.name}`;
  return readyTimes(table, exports).flatMap(({ ready_by, time_zone, expression, max_age }) => {
    const driver = 'operational';
    return [
      {
        property: 'timeOfAvailability',
        value: ready_by,
        element,
        driver,
        description: `The days of the run are there by ${ready_by} in ${time_zone}.`,
        scheduler: 'EventBridge Scheduler',
        schedule: expression,
      },
      {
        property: 'freshness',
        value: max_age,
        unit: 'h',
        element,
        driver,
        description: `The newest report is at most ${max_age} hours old.`,
      },
    ];
  });
}
