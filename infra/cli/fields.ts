import { Command } from 'commander';
import { platformName } from '../../functions/decisions/request-hash.ts';
import { DICTIONARY } from '../../functions/workflow/request/dictionary.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import { type DocumentedTable, documentTable } from '../catalog/table-words.ts';
import { tablesOf } from '../config/exports.ts';
import { loadConfig } from '../knowledge/config.ts';
import { alignColumns, printDocument, printLines } from './layout.ts';
import { type CommonOptions, option } from './options.ts';

export function createCommand(): Command {
  return new Command('fields').addOption(option.json()).action((options: Pick<CommonOptions, 'json'>) => {
    const tables = documentTables();
    if (options.json) printDocument({ outcome: 'ok', ...DICTIONARY, tables });
    else printLines([...describeDictionary(), ...tables.flatMap(describeTable)]);
  });
}

function documentTables(): DocumentedTable[] {
  const { exports, base_url, revision, accounts } = loadConfig();
  const tables = tablesOf(exports, { platform: platformName(base_url), revision }, { accounts });
  return tables.map((schema) => documentTable(schema, exports));
}

function describeDictionary(): string[] {
  const { metrics, dimensions } = DICTIONARY;
  return [
    ...alignColumns([
      ['metric', 'unit', 'adds up', 'source', 'meaning'],
      ...metrics.map((one) => [one.name, one.unit, sayYes(one.adds_up), one.source, one.meaning]),
    ]),
    '',
    ...alignColumns([
      ['dimension', 'source', 'meaning'],
      ...dimensions.map(({ name, source, meaning }) => [name, source, meaning]),
    ]),
    '',
    'The platform decides about any other name. Sources: the contract, or names that are common elsewhere.',
  ];
}

function describeTable({ table, description, columns }: DocumentedTable): string[] {
  const rows = columns.map(({ name, type, unit = '', adds_up, meaning }) => {
    return [name, type, unit, adds_up === undefined ? '' : sayYes(adds_up), meaning];
  });
  return [
    '',
    `table ${catalogName(table)}`,
    description,
    ...alignColumns([['column', 'type', 'unit', 'adds up', 'meaning'], ...rows]),
  ];
}

function sayYes(is: boolean): string {
  return is ? 'yes' : 'no';
}
